// Progressive enhancement. Every page works without this file.
"use strict";

addEventListener("DOMContentLoaded", () => {
  const all = (selector) => document.querySelectorAll(selector);
  // The page at an address, and the answer that has it.
  const load = async (address) => {
    const answer = await fetch(address);
    return [new DOMParser().parseFromString(await answer.text(), "text/html"), answer];
  };
  const make = (tag, properties) => Object.assign(document.createElement(tag), properties);

  // Without Options.PublicURL, example commands show the address of this page.
  const base = document.body.dataset.base;
  if (base) {
    const address = new URL(base, document.baseURI).href.replace(/\/$/, "");
    for (const e of all("[data-address]")) e.textContent = address;
    for (const e of all("[data-address-note]")) e.remove();
  }

  // Times are UTC, as in forms. The title has the time of the browser, too.
  const local = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });
  if (local.resolvedOptions().timeZone !== "UTC") for (const e of all("time[title]")) e.title += ` = ${local.format(new Date(e.dateTime))}`;

  // Buttons copy the text of another element.
  const live = document.getElementById("live");
  const copy = async (source) => {
    try {
      await navigator.clipboard.writeText(source.textContent.trim());
      return true;
    } catch { // no clipboard API on plain HTTP: select the text and use execCommand
      getSelection().selectAllChildren(source);
      return document.execCommand("copy");
    }
  };
  for (const button of all("[data-copy]")) {
    const label = button.textContent;
    let back;
    button.hidden = false;
    button.addEventListener("click", async () => {
      const done = await copy(document.getElementById(button.dataset.copy));
      button.textContent = done ? "Copied" : "Press Ctrl+C";
      live.textContent = done ? "Copied to the clipboard" : "Selected; press Ctrl+C to copy";
      clearTimeout(back);
      back = setTimeout(() => { button.textContent = label; live.textContent = ""; }, 2000);
    });
  }

  // A setup link has its code in the fragment, which is not sent to a server.
  const code = document.querySelector("input[data-fragment]");
  const value = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code && value) {
    code.value = value;
    history.replaceState(null, "", location.pathname + location.search);
    (document.querySelector("input[type=email], input[type=password]") ?? code).focus();
  }

  // The checkbox in a table head selects all rows. A label shows their number.
  for (const label of all("[data-count]")) {
    const update = () => { label.textContent = `${all("[name=id]:checked").length} selected`; };
    for (const box of all("[data-all]")) {
      box.parentElement.hidden = false;
      box.addEventListener("change", () => { for (const e of all("[name=id]")) e.checked = box.checked; });
    }
    for (const event of ["change", "pageshow"]) addEventListener(event, update);
    update();
  }

  // A menu closes on Escape and on a click outside it.
  const closeMenus = (except) => {
    for (const menu of all(".menu[open]")) if (menu !== except) menu.open = false;
  };
  addEventListener("click", (event) => closeMenus(event.target.closest(".menu")));
  addEventListener("keydown", (event) => {
    const menu = event.key === "Escape" && event.target.closest(".menu[open]");
    if (menu) { menu.open = false; menu.firstElementChild.focus(); }
  });

  // The link above the heading leads to where the operator came from in this tab. The
  // trail has the pages from a list to this one; a page that is on it ends it.
  const home = document.querySelector(".side .brand"), main = document.getElementById("main");
  const follow = () => {
    const at = new URL(location);
    at.searchParams.delete("done"); // the notice of a change
    const here = { title: main.querySelector("h1").textContent, href: at.href };
    here.key = at.pathname.replace(/(\/licenses\/lic_[^/]+).*/, "$1") + (at.searchParams.get("id") ?? "");
    const place = "place" in main.dataset, crumb = main.querySelector("a.crumb"), known = crumb && document.referrer.startsWith(home.href);
    let trail = known ? JSON.parse(sessionStorage.getItem("trail") ?? "[]") : [];
    const seen = trail.findIndex(({ key }) => key === here.key);
    if (place && seen >= 0) trail = trail.slice(0, seen);
    const from = trail.findLast(({ href }) => href !== at.href); // the result of a form has its address
    if (from) {
      Object.assign(crumb, { href: from.href, textContent: from.title });
      for (const e of main.querySelectorAll("a[data-back]")) e.href = from.href;
    }
    if (place) trail = [...trail, here].slice(-20);
    if (place || crumb) sessionStorage.setItem("trail", JSON.stringify(trail));
  };
  const remember = () => { try { follow(); } catch { } }; // no storage: the links stay
  if (home) {
    remember();
    addEventListener("pageshow", (event) => { if (event.persisted) remember(); });
  }

  // Ctrl+K or ⌘K moves to the search.
  const find = document.getElementById("find");
  addEventListener("keydown", (event) => {
    if (!find || event.key !== "k" || !(event.ctrlKey || event.metaKey) || event.target.closest("dialog")) return;
    event.preventDefault();
    find.focus();
    find.select();
  });

  // The arrows move in the results of the search, and j and k in a list that has the focus.
  addEventListener("keydown", (event) => {
    const at = document.activeElement, found = at.closest("#find, #results");
    const step = (found ? { ArrowDown: 1, ArrowUp: -1 } : { j: 1, k: -1 })[event.key];
    if (!step || event.ctrlKey || event.metaKey || event.altKey || !found && !at.matches("tbody th a")) return;
    const stops = [...(found ? all("#find, #results:not([hidden]) a") : at.closest("tbody").querySelectorAll("th a"))];
    event.preventDefault();
    stops[stops.indexOf(at) + step]?.focus();
  });

  // In a form, a field can depend on a choice, and a text on all fields: that of
  // the same page with their values as its query.
  const prepare = (form) => {
    const depends = () => {
      for (const e of form.querySelectorAll("[data-when]")) {
        const [name, value] = e.dataset.when.split("=");
        e.hidden = form.elements[name].value !== value && !e.querySelector("[aria-invalid]");
      }
    };
    const live = form.querySelector("[data-live]");
    let last;
    form.addEventListener("input", depends);
    if (live) form.addEventListener("input", async () => {
      const mine = last = {}, query = new URLSearchParams(new FormData(form));
      try {
        const [page] = await load(form.action.split("?")[0] + "?" + query);
        if (last === mine) live.textContent = page.querySelector("[data-live]").textContent;
      } catch { } // the text stays
    });
    depends();
  };
  for (const form of all("form[method=post]")) prepare(form);

  // A number that takes long to count is a link to the page that has it.
  const count = async (root) => {
    const links = root.querySelectorAll("a[data-later]");
    const [page] = links.length ? await load(links[0].href).catch(() => []) : [];
    for (const a of links) a.replaceWith(page?.querySelector(`span[data-later="${CSS.escape(a.dataset.later)}"]`) ?? a);
  };
  count(document);

  // Filters and files apply on change; the button is for pages without a script.
  for (const form of all("form.filters, form:has(#file)")) {
    for (const button of form.querySelectorAll("button:not([name])")) button.hidden = true;
    for (const e of form.querySelectorAll("select, [type=date], [type=file]")) e.addEventListener("change", () => form.requestSubmit());
  }

  // The search shows its first results while typing.
  if (find) {
    const list = make("div", { id: "results", className: "card found", hidden: true });
    const item = (href, { textContent }) => make("a", { href, textContent });
    let wait, last;
    find.form.after(list);
    find.addEventListener("input", () => {
      clearTimeout(wait);
      const mine = last = {}, text = find.value.trim();
      if (text.length < 2) { list.hidden = true; return; }
      wait = setTimeout(async () => {
        try {
          const [page, answer] = await load(`${find.form.action}?${new URLSearchParams({ q: text })}`);
          if (last !== mine) return;
          const links = answer.redirected ? [] : [...page.querySelectorAll("main tbody th a, main .found a")].slice(0, 8);
          const found = links.map((a) => item(new URL(a.getAttribute("href"), answer.url), a));
          if (answer.redirected) found.push(item(answer.url, page.querySelector("h1")));
          list.replaceChildren(...found);
          list.hidden = found.length === 0;
          live.textContent = `${found.length} results`;
        } catch { list.hidden = true; }
      }, 200);
    });
    const close = (event) => { if (event.key === "Escape" || event.type === "click" && !event.target.closest(".finder")) list.hidden = true; };
    addEventListener("keydown", close);
    addEventListener("click", close);
  }

  // A download leaves the page as it is, so say that it has begun.
  const began = () => {
    document.getElementById("began")?.remove();
    const note = make("p", { id: "began", className: "note good", role: "status", textContent: "The download has started." });
    (document.querySelector("dialog") ?? document.getElementById("main")).prepend(note);
  };
  for (const e of all("a[download]")) e.addEventListener("click", began);
  addEventListener("submit", (event) => { if ("download" in event.target.dataset) began(); });

  // Links to a confirmation open it as a dialog. If the page has no form, or
  // with a modifier key, the link works as usual.
  for (const link of all("a[data-dialog]")) {
    link.addEventListener("click", async (event) => {
      if (event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      closeMenus();
      try {
        const [page, answer] = await load(link.href);
        const form = page.querySelector("main form[method=post]");
        if (!answer.ok || answer.redirected || !form) throw new Error(answer.status);
        const dialog = document.createElement("dialog");
        const title = make("h2", { id: "dialog-title", textContent: page.querySelector("h1").textContent });
        dialog.setAttribute("aria-labelledby", title.id);
        dialog.append(title, ...form.parentElement.children);
        form.action = link.href;
        form.querySelector("a.button").addEventListener("click", (e) => { e.preventDefault(); dialog.close(); });
        dialog.addEventListener("close", () => {
          dialog.remove();
          (link.closest(".menu")?.firstElementChild ?? link).focus(); // the menu is closed
        });
        document.body.append(dialog);
        prepare(form);
        count(dialog);
        dialog.showModal();
        dialog.querySelector("input")?.focus();
      } catch { location = link.href; }
    });
  }

  // A second click does not submit a form twice, but going back in the history
  // allows it. The button says that the form is being sent. A form that downloads a file stays.
  const sent = new Map();
  addEventListener("submit", (event) => {
    const form = event.target;
    if (form.method !== "post" || "download" in form.dataset) return;
    if (sent.has(form)) { event.preventDefault(); return; }
    const button = form.closest("main:not(.standalone), dialog") && form.querySelector(".primary, .danger");
    sent.set(form, [button, button?.textContent]);
    form.ariaBusy = "true";
    if (button) setTimeout(() => { button.textContent = live.textContent = "Saving…"; if (form.enctype.startsWith("multipart")) button.after(make("progress", { ariaLabel: "Progress" })); }); // after the browser has read the form
  });
  addEventListener("pageshow", () => {
    for (const [form, [button, label]] of sent) {
      form.ariaBusy = null;
      if (button) button.textContent = label;
    }
    sent.clear();
  });
});
