// Progressive enhancement. Every page works without this file.
"use strict";
document.documentElement.classList.add("js");

addEventListener("DOMContentLoaded", () => {
  const all = (selector) => document.querySelectorAll(selector);

  // If Options.PublicURL is not set, show the address of this page in the
  // example commands.
  const base = document.body.dataset.base;
  if (base) {
    const address = new URL(base, document.baseURI).href.replace(/\/$/, "");
    for (const e of all("[data-address]")) e.textContent = address;
    for (const e of all("[data-address-note]")) e.remove();
  }

  // Buttons copy the text of another element.
  const live = document.getElementById("live");
  const copy = async (source) => {
    const text = source.value ?? source.textContent.trim();
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { // no clipboard API on plain HTTP: select the text and use execCommand
      const range = document.createRange();
      range.selectNodeContents(source);
      getSelection().removeAllRanges();
      getSelection().addRange(range);
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

  // The checkbox in a table head selects all rows. A label shows the number of
  // selected rows.
  for (const label of all("[data-count]")) {
    const boxes = all(`input[name="${label.dataset.count}"]`);
    const update = () => { label.textContent = `${[...boxes].filter((box) => box.checked).length} selected`; };
    for (const box of boxes) box.addEventListener("change", update);
    for (const box of all("[data-all]")) {
      box.parentElement.hidden = false;
      box.addEventListener("change", () => {
        for (const e of boxes) e.checked = box.checked;
        update();
      });
    }
    addEventListener("pageshow", update);
    update();
  }

  // A second click does not submit a form twice. After going back in the
  // history, the form can be submitted again.
  const sent = new Set();
  for (const form of all("form[method=post]")) {
    form.addEventListener("submit", (event) => {
      if (sent.has(form)) event.preventDefault();
      sent.add(form);
    });
  }
  addEventListener("pageshow", () => sent.clear());
});
