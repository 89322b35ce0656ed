/* The documents that a question may read: the fields of the filter, folded, and what is set in words. */

import {h} from "../lib/dom.js";
import {plural} from "../lib/format.js";

const FIELDS = [
  ["documents", "Names", {placeholder: "2024/*.pdf, notes.md"}, "Any of them, separated by commas. * and ? stand for any characters."],
  ["folder", "Folder", {placeholder: "reports/2024"}, "At any depth. The end of its path will do."],
  ["type", "Types", {placeholder: "pdf, docx"}, "Any of them, separated by commas."],
  ["since", "Since", {type: "date"}, "The date or period that the document states, else the day on which its file was changed."],
  ["tags", "Tags", {placeholder: "taxes, 2024"}, "All of them, separated by commas."],
];
const LISTS = ["documents", "type", "tags"];
const PREFIX = "filter:"; // before the names of the fields in the form

/** The fields, with the values of an earlier form. The summary says what is set. */
export function filterFields(given) {
  const summary = h("summary", {});
  const inputs = FIELDS.map(([name, label, props, note]) => h("label", {class: "field"}, h("span", {}, label),
    h("input", {name: PREFIX + name, value: given[PREFIX + name] ?? "", ...props}), h("span", {class: "note"}, note)));
  const element = h("details", {class: "filters", "data-key": "filters"}, summary, h("div", {class: "fold-body"}, inputs));
  const update = () => {
    const values = Object.fromEntries([...element.querySelectorAll("input")].map(({name, value}) => [name, value]));
    const wanted = filterFrom(values);
    summary.textContent = wanted ? `Only documents with ${inWords(wanted)}` : "Only some of the documents";
  };
  element.addEventListener("input", update);
  update();
  return element;
}

/** Return the filter of a form's values; null if no field is filled in. */
export function filterFrom(values) {
  const filled = LISTED.map(([name, read]) => [name, read(values[PREFIX + name] ?? "")]).filter(([, value]) => value.length);
  return filled.length ? Object.fromEntries(filled) : null;
}

/** Return a filter in words, such as "type pdf, tag taxes". */
export function inWords({documents = [], folder, type = [], since, tags = []}) {
  return [
    documents.length > 0 && `document ${documents.join(" or ")}`, folder && `folder ${folder}`,
    type.length > 0 && `type ${type.join(" or ")}`, since && `since ${since}`, ...tags.map((tag) => `tag ${tag}`),
  ].filter(Boolean).join(", ");
}

/** Return what a run could read, such as "3 of 12 documents (tag taxes)". */
export function searchedInWords({filter, documents, total}) {
  return `${documents.toLocaleString("en")} of ${plural(total, "document")} (${inWords(filter)})`;
}

/** Return the parts of a list that commas separate. */
export function commaList(text) {
  return text.split(",").map((part) => part.trim()).filter(Boolean);
}

const LISTED = FIELDS.map(([name]) => [name, LISTS.includes(name) ? commaList : (text) => text.trim()]);
