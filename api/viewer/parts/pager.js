/* Previous and next controls for items that open one at a time. */

import {h} from "../lib/dom.js";

/** A bar with previous, position and next. `go` gets +1 or -1. */
export function pagerBar(what, at, count, go) {
  return h("div", {class: "steps"},
    h("button", {type: "button", on: {click: () => go(-1)}, "aria-label": `Previous ${what}`, "data-key": "previous"}, "‹ Previous"),
    h("span", {}, `${(at + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`),
    h("button", {type: "button", on: {click: () => go(1)}, "aria-label": `Next ${what}`, "data-key": "next"}, "Next ›"));
}

/** A key handler for the side panel: n for next, p for previous. */
export function pagerKeys(go) {
  return ({key}) => {
    if (key === "n") go(1);
    if (key === "p") go(-1);
  };
}

/** Run `draw`, which redraws `root`, and keep the focus on the same control. */
export function keepFocus(root, draw) {
  const focused = document.activeElement;
  draw();
  const control = focused.isConnected ? focused : [...root.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused.dataset.key);
  control?.focus({preventScroll: true});
}
