/* One of several things that are opened one after the other: which it is, and the way to the next and the one before. */

import {h} from "../lib/dom.js";

/** `go` is given +1 or -1. */
export function walkBar(what, at, count, go) {
  return h("div", {class: "steps"},
    h("button", {type: "button", on: {click: () => go(-1)}, "aria-label": `Previous ${what}`, "data-key": "previous"}, "‹ Previous"),
    h("span", {}, `${(at + 1).toLocaleString("en")} of ${count.toLocaleString("en")}`),
    h("button", {type: "button", on: {click: () => go(1)}, "aria-label": `Next ${what}`, "data-key": "next"}, "Next ›"));
}

/** What a panel does with keys while one of them is open. */
export function walkKeys(go) {
  return ({key}) => {
    if (key === "n") go(1);
    if (key === "p") go(-1);
  };
}

/** Do what draws `root` anew, and leave the focus on the control that had it. */
export function keepingFocus(root, draw) {
  const focused = document.activeElement;
  draw();
  const again = focused.isConnected ? focused : [...root.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused.dataset.key);
  again?.focus({preventScroll: true});
}
