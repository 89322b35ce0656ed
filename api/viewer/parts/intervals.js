/* Figures with confidence intervals: as numbers, and drawn as a dot on a line. */

import {h, svg} from "../lib/dom.js";
import {decimal} from "../lib/format.js";
import {number, t} from "../lib/i18n.js";

const WHOLE = 100; // larger values are shown without decimals
const MINUS = "−";

/** Return whether a figure is a share between 0 and 1. */
export const isShare = (meaning) => !meaning?.unit;

/** Format a value: shares with three decimals, others with three significant digits. */
export function formatValue(value, meaning, signed = false) {
  const size = Math.abs(value);
  const digits = isShare(meaning) ? decimal(size, 3)
    : size >= WHOLE ? number(Math.round(size))
      : number(size.toPrecision(3), {maximumFractionDigits: 6});
  const sign = value < 0 ? MINUS : signed && value > 0 ? "+" : "";
  return `${sign}${digits}`;
}

/** Format an interval; a dash if there is only one question. */
export function bounds({low, high, clusters}, meaning, signed = false) {
  if (clusters < 2 && low === high) return "–";
  const range = t("{low} to {high}", {low: formatValue(low, meaning, signed), high: formatValue(high, meaning, signed)});
  return `${range}${meaning?.unit ? ` ${meaning.unit}` : ""}`;
}

/** Draw the mean of a share on a line from 0 to 1. */
export function share(interval) {
  return draw(interval, (value) => value);
}

/** Draw a difference around zero; `widest` is the largest absolute bound. Significant differences are colored. */
export function difference(interval, widest, meaning, significant) {
  const gained = meaning?.better === "lower" ? interval.mean < 0 : interval.mean > 0;
  const tone = significant && meaning?.better !== "neither" ? (gained ? "is-better" : "is-worse") : "";
  return draw(interval, (value) => 0.5 + value / widest / 2, tone, true);
}

/** Draw a part of a whole as a bar. */
export function portion(part) {
  return svg("svg", {class: "interval is-worse", "aria-hidden": "true"},
    svg("rect", {class: "whole", width: "100%", height: "60%", y: "20%", rx: 3}),
    svg("rect", {class: "part", width: `${part * 100}%`, height: "60%", y: "20%", rx: 3}));
}

function draw({mean, low, high}, position, tone = "", around = false) {
  const at = (value) => `${2 + 96 * Math.min(1, Math.max(0, position(value)))}%`; // keeps dots at the ends fully visible
  return svg("svg", {class: `interval ${tone}`, "aria-hidden": "true"},
    svg("line", {class: "axis", x1: "2%", x2: "98%", y1: "50%", y2: "50%"}),
    around && svg("line", {class: "none", x1: at(0), x2: at(0), y1: "10%", y2: "90%"}),
    svg("line", {class: "reach", x1: at(low), x2: at(high), y1: "50%", y2: "50%"}),
    svg("circle", {cx: at(mean), cy: "50%", r: 4.5}));
}

/** The name of a figure, with its description as tooltip. */
export function figureName(name, meaning) {
  return h("span", {class: "figure", title: meaning?.description}, name.replaceAll("_", " "));
}

/** The head of a table with numeric columns, except for the interval. */
export function figureHead(first, ...names) {
  return h("thead", {}, h("tr", {}, h("th", {scope: "col"}, first),
    names.map((name) => h("th", {scope: "col", class: name === t("95 % interval") ? "" : "number"}, name))));
}

/** Return the names of figures, shares first. */
export function inOrder(figures, meanings) {
  const names = [...new Set([...Object.keys(meanings), ...Object.keys(figures)])].filter((name) => figures[name]);
  return [...names.filter((name) => isShare(meanings[name])), ...names.filter((name) => !isShare(meanings[name]))];
}

/** A table of means with intervals; shares are also drawn. */
export function figureTable(figures, meanings) {
  return h("div", {class: "wide"}, h("table", {class: "figures"},
    figureHead(t("Figure"), t("Mean"), t("95 % interval"), t("Questions")),
    h("tbody", {}, inOrder(figures, meanings).map((name) => {
      const meaning = meanings[name];
      const interval = figures[name];
      return h("tr", {},
        h("th", {scope: "row"}, figureName(name, meaning), " ", meaning && h("span", {class: "note"}, meaning.description)),
        h("td", {class: "number"}, formatValue(interval.mean, meaning)),
        h("td", {class: "drawn"}, isShare(meaning) && share(interval), h("span", {class: "note"}, bounds(interval, meaning))),
        h("td", {class: "number"}, interval.n));
    }))));
}
