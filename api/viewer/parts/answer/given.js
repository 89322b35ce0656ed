/* Passages that the caller gave with the question. The collection does not have them. */

import {h} from "../../lib/dom.js";

export const GIVEN = "given with the question";

export function isGiven(quote) {
  return quote.origin?.kind === "caller";
}

/** Where the caller has the passage from; a link for an address of the web. */
export function givenSource({origin}) {
  const isAddress = /^https?:\/\//i.test(origin.source);
  return [
    h("p", {class: "note"}, "Given with the question. The quote was verified in the text that was given, not in a document of the collection."),
    h("p", {class: "text"}, "Source: ", isAddress ? h("a", {href: origin.source, target: "_blank", rel: "noopener noreferrer"}, origin.source) : origin.source),
  ];
}
