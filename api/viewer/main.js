/* Routing between pages, sign-in, the connection banner and global keyboard shortcuts. */

import {showAgain} from "./pages/again.js";
import {showAgents} from "./pages/agents.js";
import {showApprovals} from "./pages/approvals.js";
import * as api from "./lib/api.js";
import {showAsk} from "./pages/ask.js";
import {showComparison} from "./pages/comparison.js";
import {showDocument} from "./pages/document.js";
import {showDocuments} from "./pages/documents.js";
import {failure, h} from "./lib/dom.js";
import {followModel} from "./lib/model-state.js";
import {Problem, Unreachable} from "./lib/errors.js";
import {showEvaluation} from "./pages/evaluation.js";
import {showEvaluations} from "./pages/evaluations.js";
import {showKeys} from "./pages/keys.js";
import {showMemory} from "./pages/memory.js";
import {showModels} from "./pages/models.js";
import {closePanel, panelKey} from "./parts/panel.js";
import {showRunComparison} from "./pages/run-comparison.js";
import {showRun} from "./pages/run.js";
import {showRuns} from "./pages/runs.js";
import {showSearch} from "./pages/search.js";
import {showSettings} from "./pages/settings.js";
import {showTable} from "./pages/table.js";
import {showTables} from "./pages/tables.js";
import {followApprovals} from "./parts/open-approvals.js";
import {forgetKey, hasKey, owner, session} from "./lib/session.js";
import {showInvitation, showSignIn} from "./pages/sign-in.js";
import {showUsers} from "./pages/users.js";

const main = document.querySelector("#main");
const banner = document.querySelector("#banner");
const shortcuts = document.querySelector("#shortcuts");
const who = document.querySelector("#who");
const sections = document.querySelector("#sections");
const SETTINGS = ["settings", "agents", "memory", "models", "keys", "users"];
const NO_PAGE = {path: "", close: () => {}, moved: (_path) => false};
let current = NO_PAGE;

/** @type {[RegExp, (container: Element, ...parts: string[]) => object][]} */
const PAGES = [
  [/^\/(?:ask\/([^/]+)(?:\/(\d+))?)?$/, showAsk],
  [/^\/again\/([^/]+)$/, showAgain],
  [/^\/search(?:\/([^/]+)\/([^/]+))?$/, showSearch],
  [/^\/runs$/, showRuns],
  [/^\/runs\/([^/]+)(?:\/steps\/([^/]+)|\/(\d+))?$/, showRun],
  [/^\/compare\/([^/]+)\/([^/]+)$/, showRunComparison],
  [/^\/documents(?:\/([^/]+))?$/, showDocuments],
  [/^\/documents\/([^/]+)\/([^/]+)(?:\/(page|at)\/([\d-]+))?$/, showDocument],
  [/^\/tables$/, showTables],
  [/^\/tables\/([^/]+)$/, showTable],
  [/^\/evaluations$/, showEvaluations],
  [/^\/evaluations\/([^/]+)$/, showEvaluation],
  [/^\/evaluations\/([^/]+)\/against\/([^/]+)$/, showComparison],
  [/^\/approvals$/, showApprovals],
  [/^\/settings$/, showSettings],
  [/^\/agents$/, showAgents],
  [/^\/memory$/, showMemory],
  [/^\/models$/, showModels],
  [/^\/keys$/, showKeys],
  [/^\/users$/, showUsers],
];

/** Load the identity behind the key, then show the page that the URL names. */
async function start() {
  try {
    session.me = await api.me();
  } catch (error) {
    if (error instanceof Problem && error.status === 401) return; // the sign-in page is shown already
    main.replaceChildren(failure(error));
    if (!(error instanceof Unreachable)) return;
    await api.online();
    start();
    return;
  }
  document.body.classList.remove("signed-out");
  for (const link of document.querySelectorAll("[data-owner]")) link.hidden = !owner() && !(session.me.signed_in && link.hash === "#/keys");
  who.replaceChildren(...(hasKey() || session.me.signed_in ? [h("span", {class: "note"}, `Signed in as ${session.me.name}`), h("button", {type: "button", class: "quiet", on: {click: signOut}}, "Sign out")] : []));
  route();
  followApprovals();
  followModel();
}

/** Show the page of an invitation, whoever is signed in. */
function invite() {
  const token = location.hash.slice("#/invitation/".length);
  document.body.classList.add("signed-out");
  showInvitation(main, token, () => {
    history.replaceState(null, "", "#/");
    start();
  });
}

function askForKey() {
  if (document.body.classList.contains("signed-out")) return;
  leave();
  document.body.classList.add("signed-out");
  showSignIn(main, start);
}

async function signOut() {
  if (hasKey()) forgetKey();
  else await api.signOut();
  location.reload(); // drops everything the page has loaded
}

/** Show the page that the URL names. A page may handle a change of its own URL: `moved` returns true. */
function route() {
  if (!session.me || document.body.classList.contains("signed-out")) return; // start() calls route() later
  const path = location.hash.slice(1) || "/";
  if (current.moved(path)) return;
  leave();
  const [page, parts] = findPage(path);
  current = {...NO_PAGE, path, ...page(main, ...parts)};
  markLink(path);
  window.scrollTo(0, 0);
}

function leave() {
  current.close();
  current = NO_PAGE;
  sections.hidden = true;
  closePanel();
  main.replaceChildren();
}

/** @returns {[(container: Element, ...parts: string[]) => object, string[]]} */
function findPage(path) {
  for (const [pattern, page] of PAGES) {
    const found = pattern.exec(path);
    if (found) return [page, found.slice(1).map((part) => part && decodeURIComponent(part))];
  }
  return [(container) => {
    container.append(h("h1", {}, "Page not found"), h("p", {}, "Check the address, or choose a page above."));
    return {};
  }, []];
}

function markLink(path) {
  const [, section] = path.split("/");
  sections.hidden = !SETTINGS.includes(section);
  for (const link of document.querySelectorAll(".top nav a, .sections a")) {
    const shown = link.closest(".sections") || !SETTINGS.includes(section) ? section : "settings";
    if (link.hash === `#/${shown === "ask" ? "" : shown}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
}

function onKey(event) {
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "Escape" && !shortcuts.open && closePanel()) return;
  if (typing || event.ctrlKey || event.metaKey || event.altKey || shortcuts.open) return;
  if (event.key === "?") shortcuts.showModal();
  else if (event.key === "/") {
    event.preventDefault();
    main.querySelector("[data-slash]")?.focus();
  } else if (event.key === "s") main.querySelector("[data-press='s']")?.click();
  else panelKey(event);
}

api.connection.addEventListener("offline", () => {
  banner.replaceChildren(
    h("span", {class: "pulse", "aria-hidden": "true"}),
    "The server does not respond. Nothing is lost: this page reconnects automatically.");
  banner.hidden = false;
});
api.connection.addEventListener("online", () => { banner.hidden = true; });
session.addEventListener("needed", askForKey);
window.addEventListener("hashchange", route);
window.addEventListener("keydown", onKey);
window.addEventListener("beforeprint", () => {
  for (const evidence of document.querySelectorAll("details[data-key='evidence']")) evidence.open = true;
});
document.querySelector("#help").addEventListener("click", () => shortcuts.showModal());
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash of the URL names the current page
  main.focus();
});
if (location.hash.startsWith("#/invitation/")) invite();
else start();
