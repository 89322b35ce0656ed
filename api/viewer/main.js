/* Routing between pages, sign-in, the connection banner and global keyboard shortcuts. */

import * as api from "./lib/api.js";
import {failure, h} from "./lib/dom.js";
import {followModel} from "./lib/model-state.js";
import {Problem, Unreachable} from "./lib/errors.js";
import {closePanel, panelKey} from "./parts/panel.js";
import {followApprovals} from "./parts/open-approvals.js";
import {forgetKey, hasKey, owner, session} from "./lib/session.js";
import {showInvitation, showSignIn} from "./pages/sign-in.js";
import {language, LANGUAGES, setLanguage, t} from "./lib/i18n.js";

const main = document.querySelector("#main");
const banner = document.querySelector("#banner");
const shortcuts = document.querySelector("#shortcuts");
const who = document.querySelector("#who");
const sections = document.querySelector("#sections");
const SETTINGS = ["settings", "agents", "memory", "bin", "models", "keys", "users"];
const NO_PAGE = {path: "", close: () => {}, moved: (_path) => false};
let current = NO_PAGE;

/**
 * The pages. Each is loaded when it is shown first, so that the first view is small.
 * @type {[RegExp, () => Promise<(container: Element, ...parts: string[]) => object>][]}
 */
const PAGES = [
  [/^\/(?:ask\/([^/]+)(?:\/(\d+))?)?$/, () => import("./pages/ask.js").then((page) => page.showAsk)],
  [/^\/again\/([^/]+)$/, () => import("./pages/again.js").then((page) => page.showAgain)],
  [/^\/search(?:\/([^/]+)\/([^/]+))?$/, () => import("./pages/search.js").then((page) => page.showSearch)],
  [/^\/runs$/, () => import("./pages/runs.js").then((page) => page.showRuns)],
  [/^\/runs\/([^/]+)(?:\/steps\/([^/]+)|\/(\d+))?$/, () => import("./pages/run.js").then((page) => page.showRun)],
  [/^\/compare\/([^/]+)\/([^/]+)$/, () => import("./pages/run-comparison.js").then((page) => page.showRunComparison)],
  [/^\/documents(?:\/([^/]+))?$/, () => import("./pages/documents.js").then((page) => page.showDocuments)],
  [/^\/documents\/([^/]+)\/([^/]+)(?:\/(page|at)\/([\d-]+))?$/, () => import("./pages/document.js").then((page) => page.showDocument)],
  [/^\/documents\/([^/]+)\/([^/]+)\/against(?:\/([^/]+))?$/, () => import("./pages/differences.js").then((page) => page.showDifferences)],
  [/^\/tables$/, () => import("./pages/tables.js").then((page) => page.showTables)],
  [/^\/tables\/([^/]+)$/, () => import("./pages/table.js").then((page) => page.showTable)],
  [/^\/evaluations$/, () => import("./pages/evaluations.js").then((page) => page.showEvaluations)],
  [/^\/evaluations\/([^/]+)$/, () => import("./pages/evaluation.js").then((page) => page.showEvaluation)],
  [/^\/evaluations\/([^/]+)\/against\/([^/]+)$/, () => import("./pages/comparison.js").then((page) => page.showComparison)],
  [/^\/approvals$/, () => import("./pages/approvals.js").then((page) => page.showApprovals)],
  [/^\/settings$/, () => import("./pages/settings.js").then((page) => page.showSettings)],
  [/^\/agents$/, () => import("./pages/agents.js").then((page) => page.showAgents)],
  [/^\/memory$/, () => import("./pages/memory.js").then((page) => page.showMemory)],
  [/^\/bin$/, () => import("./pages/bin.js").then((page) => page.showBin)],
  [/^\/models$/, () => import("./pages/models.js").then((page) => page.showModels)],
  [/^\/keys$/, () => import("./pages/keys.js").then((page) => page.showKeys)],
  [/^\/users$/, () => import("./pages/users.js").then((page) => page.showUsers)],
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
  who.replaceChildren(...(hasKey() || session.me.signed_in ? [h("span", {class: "note"}, t("Signed in as {name}", {name: session.me.name})), h("button", {type: "button", class: "quiet", on: {click: signOut}}, t("Sign out"))] : []));
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
async function route() {
  if (!session.me || document.body.classList.contains("signed-out")) return; // start() calls route() later
  const path = location.hash.slice(1) || "/";
  if (current.moved(path)) return;
  leave();
  const wanted = current = {...NO_PAGE, path};
  markLink(path);
  const [load, parts] = findPage(path);
  const page = await load().catch((error) => {
    if (!(error instanceof TypeError)) throw error;
    return showMissing;
  });
  if (current !== wanted) return; // another page was chosen meanwhile
  current = {...NO_PAGE, path, ...page(main, ...parts)};
  window.scrollTo(0, 0);
}

/** Show that the file of a page did not arrive. Load everything again when the server is back. */
function showMissing(container) {
  const again = () => location.reload();
  container.append(failure(new Unreachable(), again));
  api.connection.addEventListener("online", again, {once: true});
  return {close: () => api.connection.removeEventListener("online", again)};
}

function leave() {
  current.close();
  current = NO_PAGE;
  sections.hidden = true;
  closePanel();
  main.replaceChildren();
}

/** @returns {[() => Promise<(container: Element, ...parts: string[]) => object>, string[]]} */
function findPage(path) {
  for (const [pattern, page] of PAGES) {
    const found = pattern.exec(path);
    if (found) return [page, found.slice(1).map((part) => part && decodeURIComponent(part))];
  }
  return [async () => (container) => {
    container.append(h("h1", {}, t("Page not found")), h("p", {}, t("Check the address, or choose a page above.")));
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

async function showShortcuts() {
  const {fillShortcuts} = await import("./parts/shortcuts.js");
  fillShortcuts(shortcuts);
  shortcuts.showModal();
}

function onKey(event) {
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "Escape" && !shortcuts.open && closePanel()) return;
  if (typing || event.ctrlKey || event.metaKey || event.altKey || shortcuts.open) return;
  if (event.key === "?") showShortcuts();
  else if (event.key === "/") {
    event.preventDefault();
    main.querySelector("[data-slash]")?.focus();
  } else if (event.key === "s") main.querySelector("[data-press='s']")?.click();
  else panelKey(event);
}

api.connection.addEventListener("offline", () => {
  banner.replaceChildren(
    h("span", {class: "pulse", "aria-hidden": "true"}),
    t("The server does not respond. Nothing is lost: this page reconnects automatically."));
  banner.hidden = false;
});
api.connection.addEventListener("online", () => { banner.hidden = true; });
session.addEventListener("needed", askForKey);
window.addEventListener("hashchange", route);
window.addEventListener("keydown", onKey);
window.addEventListener("beforeprint", () => {
  for (const evidence of document.querySelectorAll("details[data-key='evidence']")) evidence.open = true;
});
document.querySelector("#help").addEventListener("click", showShortcuts);
document.querySelector("#help").before(h("select", {id: "language", "aria-label": t("Language"), on: {change: ({target}) => setLanguage(target.value)}},
  LANGUAGES.map(([name, itself]) => h("option", {value: name, lang: name, selected: name === language}, itself))));
document.querySelector(".skip").addEventListener("click", (event) => {
  event.preventDefault(); // the hash of the URL names the current page
  main.focus();
});
if (location.hash.startsWith("#/invitation/")) invite();
else start();
