/* The part at the side, where evidence and steps are opened: beside the page, or over it where there is little room. */

import {h, replace} from "../lib/dom.js";

export const panel = document.querySelector("#panel");
let open = null;

/** Open something at the side. `shown`: {title, content, closed, key}; `key` is told keys that nobody else takes. */
export function openPanel(shown) {
  const before = open;
  if (!before) shown.opener = document.activeElement;
  else shown.opener = before.opener;
  open = shown;
  if (before && before.name !== shown.name) before.closed?.();
  draw(before?.name !== shown.name);
  document.body.classList.add("has-panel");
  panel.hidden = false;
  if (before?.name !== shown.name) panel.focus({preventScroll: true});
}

/** Draw anew what is open, if it is `name`. */
export function updatePanel(name, content) {
  if (open?.name !== name) return;
  open.content = content;
  draw(false);
}

export function panelShows(name) {
  return open?.name === name;
}

/** Close it; whether there was anything to close. */
export function closePanel() {
  if (!open) return false;
  const {opener, closed} = open;
  open = null;
  panel.hidden = true;
  panel.replaceChildren();
  document.body.classList.remove("has-panel");
  closed?.();
  if (opener?.isConnected) opener.focus({preventScroll: true});
  return true;
}

export function panelKey(event) {
  open?.key?.(event);
}

function draw(anew) {
  const head = h("header", {class: "panel-head"},
    h("h2", {}, open.title),
    h("button", {type: "button", class: "quiet", "data-key": "close", "aria-label": "Close", on: {click: closePanel}}, "×"));
  const body = h("div", {class: "panel-body"}, open.content);
  if (anew) panel.replaceChildren(head, body);
  else replace(panel, head, body);
  if (anew) panel.scrollTop = 0;
}
