"use strict";
(() => {
  // What is under the pointer or has the focus, told below the drawing. Texts stay texts.
  const told = document.getElementById("told");
  const rest = told ? told.textContent : "";
  const tell = (event) => {
    const found = event.target instanceof Element ? event.target.closest(".tip") : null;
    const title = found && found.querySelector("title");
    if (told) told.textContent = title ? title.textContent : rest;
  };
  document.addEventListener("mouseover", tell);
  document.addEventListener("focusin", tell);

  // A link to a source opens it and takes the focus there.
  const reveal = () => {
    const found = location.hash ? document.getElementById(decodeURIComponent(location.hash.slice(1))) : null;
    if (!found) return;
    if (found instanceof HTMLDetailsElement) {
      found.open = true;
      found.querySelector("summary").focus({ preventScroll: true });
    }
    found.scrollIntoView({ block: "start" });
  };
  window.addEventListener("hashchange", reveal);
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (link && link.getAttribute("href") === location.hash) reveal();
  });
  window.addEventListener("load", () => setTimeout(reveal)); // after the browser went there itself

  // Buttons that need the script appear with it.
  for (const button of document.querySelectorAll("button[data-list]")) {
    const list = document.getElementById(button.dataset.list);
    button.hidden = false;
    button.addEventListener("click", () => {
      const open = button.getAttribute("aria-pressed") !== "true";
      button.setAttribute("aria-pressed", String(open));
      for (const one of list.querySelectorAll("details")) one.open = open;
    });
  }
})();
