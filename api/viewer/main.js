/* Which page is shown, what lies open beside it, and the keys that work everywhere. */

import {connection} from "./api.js";
import {empty, h} from "./dom.js";
import {showAsk} from "./ask.js";
import {showDocuments} from "./documents.js";
import {closePanel, panelKey} from "./panel.js";
import {showRun} from "./run.js";
import {showRuns} from "./runs.js";

const main = document.querySelector("#main");
const banner = document.querySelector("#banner");
const keys = document.querySelector("#keys");
let shown = {path: "", close: () => {}, moved: () => false};

const PAGES = [
  [/^\/(?:ask\/([^/]+))?$/, showAsk],
  [/^\/runs$/, showRuns],
  [/^\/runs\/([^/]+)(?:\/steps\/([^/]+))?$/, showRun],
  [/^\/documents(?:\/([^/]+))?$/, showDocuments],
];

/** Show what the address names. A page that stays may follow a change of its own address: `moved`. */
function route() {
  const path = location.hash.slice(1) || "/";
  if (shown.moved(path)) return;
  shown.close();
  closePanel();
  const [page, parts] = find(path);
  main.replaceChildren();
  shown = {path, close: () => {}, moved: () => false, ...page(main, ...parts)};
  mark(path);
  window.scrollTo(0, 0);
}

function find(path) {
  for (const [pattern, page] of PAGES) {
    const found = pattern.exec(path);
    if (found) return [page, found.slice(1).map((part) => part && decodeURIComponent(part))];
  }
  return [(place) => {
    place.append(empty("There is no such page", "The address may be mistyped, or made by another version."));
    return {};
  }, []];
}

function mark(path) {
  const section = path.startsWith("/runs") ? "#/runs" : path.startsWith("/documents") ? "#/documents" : "#/";
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.getAttribute("href") === section) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function onKey(event) {
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "Escape" && !keys.open && closePanel()) return;
  if (typing || event.ctrlKey || event.metaKey || event.altKey || keys.open) return;
  if (event.key === "?") keys.showModal();
  else if (event.key === "/") {
    event.preventDefault();
    main.querySelector("[data-slash]")?.focus();
  } else panelKey(event);
}

connection.addEventListener("away", () => {
  banner.replaceChildren(
    h("span", {class: "pulse", "aria-hidden": "true"}),
    "The server does not answer. Nothing is lost: this page goes on as soon as it is back.");
  banner.hidden = false;
});
connection.addEventListener("back", () => { banner.hidden = true; });
window.addEventListener("hashchange", route);
window.addEventListener("keydown", onKey);
document.querySelector("#help").addEventListener("click", () => keys.showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names the page that is shown
  main.focus();
});
route();
