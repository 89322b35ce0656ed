/* The side panel for evidence, steps and events; on small screens it covers the page. */

import {h, replace} from "../lib/dom.js";
import {t} from "../lib/i18n.js";

export const panel = document.querySelector("#panel");
const room = matchMedia("(min-width: 56rem)");
let open = null;

// What opened by itself beside the page must not cover it when the window becomes narrow.
room.addEventListener("change", () => { if (!room.matches && open?.still) closePanel(); });

/** Open the panel with {name, title, content, closed, key, still}. `key` handles keys that nothing else has handled. `still`: leave the focus. */
export function openPanel(view) {
  const before = open;
  view.opener = before && !before.still && !view.still ? before.opener : document.activeElement;
  open = view;
  if (before && before.name !== view.name) before.closed?.();
  draw(before?.name !== view.name);
  document.body.classList.add("has-panel");
  panel.hidden = false;
  if (before?.name !== view.name) panel.scrollTop = 0; // a hidden element keeps how far it was scrolled
  if (before?.name !== view.name && !view.still) panel.focus({preventScroll: true});
}

/** Redraw the content if `name` is open. */
export function updatePanel(name, content) {
  if (open?.name !== name) return;
  open.content = content;
  draw(false);
}

/** Whether the panel has its place beside the page, and does not cover it. */
export function hasRoom() {
  return room.matches;
}

export function panelShows(name) {
  return open?.name === name;
}

/** Close the panel. Returns whether it was open. */
export function closePanel() {
  if (!open) return false;
  const {opener, closed} = open;
  open = null;
  panel.hidden = true;
  panel.replaceChildren();
  document.body.classList.remove("has-panel");
  closed?.();
  focusAgain(opener);
  return true;
}

/** Focus the control that opened the panel, or the one that was drawn in its place. */
function focusAgain(opener) {
  const key = opener?.dataset.key;
  const control = opener?.isConnected ? opener : [...document.querySelectorAll("main [data-key]")].find((each) => each.dataset.key === key);
  control?.focus({preventScroll: true});
}

export function panelKey(event) {
  open?.key?.(event);
}

function draw(isNew) {
  const head = h("header", {class: "panel-head"},
    h("h2", {}, open.title),
    h("button", {type: "button", class: "quiet", "data-key": "close", "aria-label": t("Close"), on: {click: closePanel}}, "×"));
  const body = h("div", {class: "panel-body"}, open.content);
  if (isNew) panel.replaceChildren(head, body);
  else replace(panel, head, body);
}
