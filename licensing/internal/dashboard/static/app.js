// Conveniences. Every page does its work without this file.
"use strict";
document.documentElement.classList.add("js");

addEventListener("DOMContentLoaded", () => {
  const all = (selector) => document.querySelectorAll(selector);

  // Command lines name the address that the page was read from, where the
  // service has not been told its own.
  const base = document.body.dataset.base;
  if (base) {
    const address = new URL(base, document.baseURI).href.replace(/\/$/, "");
    for (const e of all("[data-address]")) e.textContent = address;
    for (const e of all("[data-address-note]")) e.remove();
  }

  // Buttons that copy what another element says.
  const live = document.getElementById("live");
  const copy = async (source) => {
    const text = source.value ?? source.textContent.trim();
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch { // no clipboard on plain HTTP: select it, and try the old way
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

  // A set-up link carries its code in the fragment, which no server sees.
  const code = document.querySelector("input[data-fragment]");
  const given = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code && given) {
    code.value = given;
    history.replaceState(null, "", location.pathname + location.search);
    (document.querySelector("input[type=email], input[type=password]") ?? code).focus();
  }

  // A box at the head of a list ticks those of its rows.
  for (const box of all("[data-all]")) {
    box.parentElement.hidden = false;
    box.addEventListener("change", () => {
      for (const e of all(`input[name="${box.dataset.all}"]`)) e.checked = box.checked;
    });
  }

  // Nothing is sent twice by a second click; but again after going back.
  const sent = new Set();
  for (const form of all("form[method=post]")) {
    form.addEventListener("submit", (event) => {
      if (sent.has(form)) event.preventDefault();
      sent.add(form);
    });
  }
  addEventListener("pageshow", () => sent.clear());
});
