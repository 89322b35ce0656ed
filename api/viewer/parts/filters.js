/* Filters of documents in words, and lists that commas separate. */

import {plural} from "../lib/format.js";

/** Return a filter in words, such as "type pdf, tag taxes". */
export function inWords({documents = [], folder, type = [], since, tags = []}) {
  return [
    documents.length > 0 && `document ${documents.join(" or ")}`, folder && `folder ${folder}`,
    type.length > 0 && `type ${type.join(" or ")}`, since && `since ${since}`, ...tags.map((tag) => `tag ${tag}`),
  ].filter(Boolean).join(", ");
}

/** Describe the documents that a run could read, such as "3 of 12 documents (tag taxes)". */
export function searchedInWords({filter, documents, total}) {
  return `${documents.toLocaleString("en")} of ${plural(total, "document")} (${inWords(filter)})`;
}

/** Return the parts of a list that commas separate. */
export function commaList(text) {
  return text.split(",").map((part) => part.trim()).filter(Boolean);
}
