/* Values of events and records, for display. */

import {quoteNodes} from "./answer/text-view.js";
import {fold, h} from "../lib/dom.js";
import {pages, placeIn, shorten} from "../lib/format.js";
import {n, t} from "../lib/i18n.js";

const FIRST = 100; // entries of a long list shown at first

/** A table of values; null is shown as "null". */
export function table(columns, rows) {
  const cell = (value) => h("td", {class: typeof value === "number" ? "number" : ""},
    value === null || value === undefined ? h("span", {class: "note"}, "null") : String(value));
  return h("div", {class: "wide"}, h("table", {},
    h("thead", {}, h("tr", {}, columns.map((name) => h("th", {scope: "col"}, name)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, row.map(cell))))));
}

let passages = new Map(); // of the shown run, by id

/** From now on, show the ids of these passages as their names and first words. */
export function namePassages(known) {
  passages = known;
}

/** Any value of an event. `key` identifies it on the page. */
export function value(it, key) {
  if (it === null || it === undefined || it === "") return h("span", {class: "note"}, t("empty"));
  if (Array.isArray(it)) return list(it, key);
  if (typeof it === "object") return fields(it, key);
  const passage = passages.get(String(it).split("/")[0]);
  if (passage) return h("span", {title: String(it)}, passage.name, " ", h("span", {class: "note"}, [pages(passage.pages, passage.printed_pages), shorten(passage.excerpt, 80)].filter(Boolean).join(" · ")));
  return h("span", {class: "text"}, String(it));
}

/** The fields of an object as a list of names and values. */
export function fields(it, key, without = []) {
  const shown = Object.entries(it).filter(([name]) => !without.includes(name));
  return h("dl", {class: "fields"}, shown.map(([name, each]) => [
    h("dt", {}, name.replaceAll("_", " ")), h("dd", {}, value(each, `${key}.${name}`))]));
}

function list(items, key) {
  if (!items.length) return h("span", {class: "note"}, t("none"));
  const entries = h("ul", {class: "values"}, items.slice(0, FIRST).map((each, at) => h("li", {}, entry(each, `${key}.${at}`))));
  if (items.length <= FIRST) return entries;
  const rest = h("button", {type: "button", class: "quiet", on: {click: () => {
    entries.append(...items.slice(FIRST).map((each, at) => h("li", {}, entry(each, `${key}.${at + FIRST}`))));
    rest.remove();
  }}}, n(items.length - FIRST, "Show {count} more", "Show {count} more"));
  return [entries, rest];
}

function entry(it, key) {
  if (it === null || typeof it !== "object") return value(it, key);
  if (it.quote && it.document_id) return quoted(it);
  if (it.name && it.pages && it.index !== undefined) return h("span", {}, it.name, " ", h("span", {class: "note"}, `${t("passage {number}", {number: it.index + 1})} ${pages(it.pages)}`));
  return fold(key, shorten(Object.values(it).find((each) => typeof each === "string" && each) ?? JSON.stringify(it), 90), () => value(it, key));
}

function quoted(it) {
  return h("div", {class: "quoted"},
    h("span", {class: "where"}, [it.number && `[${it.number}]`, it.name ?? it.document, placeIn(it)].filter(Boolean).join(" ")),
    h("span", {class: "words"}, quoteNodes(it.quote)),
    it.why && h("span", {class: "note"}, it.why));
}
