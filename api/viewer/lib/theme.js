/* The color theme: that of the system, unless this browser keeps another choice. Loaded before the first paint. */

const ITEM = "candor-theme";

export function theme() {
  return localStorage.getItem(ITEM) ?? "";
}

export function setTheme(name) {
  if (name) localStorage.setItem(ITEM, name);
  else localStorage.removeItem(ITEM);
  apply();
}

function apply() {
  document.documentElement.dataset.theme = theme();
}

apply();
window.addEventListener("storage", apply); // changed in another tab
