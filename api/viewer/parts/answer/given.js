/* Passages that the caller gave with the question. The collection does not have them. */

import {h} from "../../lib/dom.js";
import {t} from "../../lib/i18n.js";

export const GIVEN = t("given with the question");

export function isGiven(quote) {
  return quote.origin?.kind === "caller";
}

/** The source of the passage, as a link if it is a URL. */
export function givenSource({origin}) {
  const isAddress = /^https?:\/\//i.test(origin.source);
  return [
    h("p", {class: "note"}, t("Given with the question. The quote was verified in the given text, not in a document of the collection.")),
    h("p", {class: "text"}, `${t("Source:")} `, isAddress ? h("a", {href: origin.source, target: "_blank", rel: "noopener noreferrer"}, origin.source) : origin.source),
  ];
}
