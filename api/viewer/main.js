/* Which page is shown, what lies open beside it, and the keys that work everywhere. */

import {showAgents} from "./pages/agents.js";
import * as api from "./lib/api.js";
import {showAsk} from "./pages/ask.js";
import {showComparison} from "./pages/comparison.js";
import {showDocuments} from "./pages/documents.js";
import {empty, failure, h} from "./lib/dom.js";
import {Away, Problem} from "./lib/errors.js";
import {showEvaluation} from "./pages/evaluation.js";
import {showEvaluations} from "./pages/evaluations.js";
import {showKeys} from "./pages/keys.js";
import {showMemory} from "./pages/memory.js";
import {closePanel, panelKey} from "./parts/panel.js";
import {showRun} from "./pages/run.js";
import {showRuns} from "./pages/runs.js";
import {forgetKey, hasKey, owner, session} from "./lib/session.js";
import {showSignIn} from "./pages/sign-in.js";

const main = document.querySelector("#main");
const banner = document.querySelector("#banner");
const keys = document.querySelector("#keys");
const who = document.querySelector("#who");
const NOTHING = {path: "", close: () => {}, moved: () => false};
let shown = NOTHING;

const PAGES = [
  [/^\/(?:ask\/([^/]+)(?:\/(\d+))?)?$/, showAsk],
  [/^\/runs$/, showRuns],
  [/^\/runs\/([^/]+)(?:\/steps\/([^/]+))?$/, showRun],
  [/^\/documents(?:\/([^/]+))?$/, showDocuments],
  [/^\/evaluations$/, showEvaluations],
  [/^\/evaluations\/([^/]+)$/, showEvaluation],
  [/^\/evaluations\/([^/]+)\/against\/([^/]+)$/, showComparison],
  [/^\/agents$/, showAgents],
  [/^\/memory$/, showMemory],
  [/^\/keys$/, showKeys],
];

/** Learn who is here, then show what the address names. */
async function begin() {
  try {
    session.me = await api.me();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return; // the page asks for a key already
    main.replaceChildren(failure(error));
    if (!(error instanceof Away)) return;
    await api.back();
    begin();
    return;
  }
  document.body.classList.remove("signed-out");
  for (const link of document.querySelectorAll("[data-owner]")) link.hidden = !owner();
  who.replaceChildren(...(hasKey() ? [h("span", {class: "note"}, session.me.name), h("button", {type: "button", class: "quiet", on: {click: signOut}}, "Sign out")] : []));
  route();
}

function askForKey() {
  if (document.body.classList.contains("signed-out")) return;
  leave();
  document.body.classList.add("signed-out");
  showSignIn(main, begin);
}

function signOut() {
  forgetKey();
  location.reload(); // nothing that was read stays in the page
}

/** Show what the address names. A page that stays may follow a change of its own address: `moved`. */
function route() {
  if (document.body.classList.contains("signed-out")) return;
  const path = location.hash.slice(1) || "/";
  if (shown.moved(path)) return;
  leave();
  const [page, parts] = find(path);
  shown = {...NOTHING, path, ...page(main, ...parts)};
  mark(path);
  window.scrollTo(0, 0);
}

function leave() {
  shown.close();
  shown = NOTHING;
  closePanel();
  main.replaceChildren();
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
  const [, section] = path.split("/");
  for (const link of document.querySelectorAll(".top nav a")) {
    if (link.hash === `#/${section === "ask" ? "" : section}`) {
      link.setAttribute("aria-current", "page");
      link.scrollIntoView({block: "nearest", inline: "nearest"}); // on a phone, not all of them are seen at once
    } else link.removeAttribute("aria-current");
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

api.connection.addEventListener("away", () => {
  banner.replaceChildren(
    h("span", {class: "pulse", "aria-hidden": "true"}),
    "The server does not answer. Nothing is lost: this page goes on as soon as it is back.");
  banner.hidden = false;
});
api.connection.addEventListener("back", () => { banner.hidden = true; });
session.addEventListener("needed", askForKey);
window.addEventListener("hashchange", route);
window.addEventListener("keydown", onKey);
document.querySelector("#help").addEventListener("click", () => keys.showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the address names the page that is shown
  main.focus();
});
begin();
