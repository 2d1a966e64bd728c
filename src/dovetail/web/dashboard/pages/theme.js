// Switches between light and dark; the default is the system setting.

import { byId } from "./dom.js";

const dark = matchMedia("(prefers-color-scheme: dark)");

export function follow() {
  wear();
  dark.addEventListener("change", wear);
  byId("theme").addEventListener("click", () => {
    keep(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
    wear();
  });
}

function wear() {
  document.documentElement.dataset.theme = kept() || (dark.matches ? "dark" : "light");
}

let chosen = null;

function kept() {
  try { return localStorage.getItem("theme"); } catch { return chosen; } // a browser may keep nothing
}

function keep(theme) {
  chosen = theme;
  try { localStorage.setItem("theme", theme); } catch { /* then until the page is closed */ }
}
