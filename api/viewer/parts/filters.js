/* Filters of documents in words, and lists that commas separate. */

import {n, number, t} from "../lib/i18n.js";

/** Return a filter in words, such as "type pdf, tag taxes". */
export function inWords({documents = [], folder, type = [], since, tags = [], where = {}, latest}) {
  return [
    documents.length > 0 && t("document {names}", {names: anyOf(documents)}), folder && t("folder {folder}", {folder}),
    type.length > 0 && t("type {types}", {types: anyOf(type)}), since && t("since {since}", {since}), ...tags.map((tag) => t("tag {tag}", {tag})),
    ...Object.entries(where).map(([name, value]) => `${name}=${value}`), latest && t("latest versions"),
  ].filter(Boolean).join(", ");
}

/** Describe the documents that a run could read, such as "3 of 12 documents (tag taxes)". */
export function searchedInWords({filter, documents, total, older = {}}) {
  const left = Object.entries(older).map(([name, newest]) => t("{name} (newest: {newest})", {name, newest})).join(", ");
  const searched = n(total, "{part} of {count} document ({filter})", "{part} of {count} documents ({filter})", {part: number(documents), filter: inWords(filter)});
  return left ? t("{searched}, without the older versions {left}", {searched, left}) : searched;
}

function anyOf(names) {
  return names.join(` ${t("or")} `);
}

/** Return the metadata of a document in words. */
export function fieldsInWords(fields) {
  return Object.entries(fields).map(([name, value]) => `${name}: ${[value].flat().join(", ")}`).join(" · ");
}

/** Return the metadata in a text such as "project=Orion, year=2024". A part without a value gets an empty one. */
export function pairs(text) {
  return Object.fromEntries(commaList(text).map((part) => part.split(/=(.*)/s).map((each) => each.trim())).map(([name, value = ""]) => [name, value]));
}

/** Return the parts of a list that commas separate. */
export function commaList(text) {
  return text.split(",").map((part) => part.trim()).filter(Boolean);
}
