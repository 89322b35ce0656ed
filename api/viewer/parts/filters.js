/* Filters of documents in words, and lists that commas separate. */

import {plural} from "../lib/format.js";

/** Return a filter in words, such as "type pdf, tag taxes". */
export function inWords({documents = [], folder, type = [], since, tags = [], where = {}, latest}) {
  return [
    documents.length > 0 && `document ${documents.join(" or ")}`, folder && `folder ${folder}`,
    type.length > 0 && `type ${type.join(" or ")}`, since && `since ${since}`, ...tags.map((tag) => `tag ${tag}`),
    ...Object.entries(where).map(([name, value]) => `${name}=${value}`), latest && "latest versions",
  ].filter(Boolean).join(", ");
}

/** Describe the documents that a run could read, such as "3 of 12 documents (tag taxes)". */
export function searchedInWords({filter, documents, total, older = {}}) {
  const left = Object.entries(older).map(([name, newest]) => `${name} (newest: ${newest})`).join(", ");
  return `${documents.toLocaleString("en")} of ${plural(total, "document")} (${inWords(filter)})${left && `, without the older versions ${left}`}`;
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
