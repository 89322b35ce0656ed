/* Previous and next controls for items that open one at a time. */

import {h} from "../lib/dom.js";
import {number, t} from "../lib/i18n.js";

/** A bar with previous, position and next. `go` gets +1 or -1. */
export function pagerBar(what, at, count, go) {
  return h("div", {class: "steps"},
    h("button", {type: "button", on: {click: () => go(-1)}, "aria-label": t("Previous {what}", {what}), "data-key": "previous"}, t("‹ Previous")),
    h("span", {}, t("{at} of {count}", {at: number(at + 1), count: number(count)})),
    h("button", {type: "button", on: {click: () => go(1)}, "aria-label": t("Next {what}", {what}), "data-key": "next"}, t("Next ›")));
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
