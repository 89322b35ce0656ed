/* The passages that the searches of a run found, in the side panel; each opens on its page. */

import {openQuote} from "../answer/evidence.js";
import {quoteNodes} from "../answer/text-view.js";
import {h} from "../../lib/dom.js";
import {closePanel, openPanel, panelShows, updatePanel} from "../panel.js";
import {decimal, pages, plural, shorten, within} from "../../lib/format.js";
import {n, t} from "../../lib/i18n.js";

const PANEL = "found";
let shown = 0; // searches in the panel

/** The button that shows the search results and hides them again; null before the first search. */
export function foundButton(live) {
  const count = live.model.passages.size;
  if (!count) return null;
  return h("button", {
    type: "button", class: "quiet found", "data-key": "found", "data-press": "s", "aria-keyshortcuts": "s", "aria-expanded": String(panelShows(PANEL)), "aria-controls": "panel",
    on: {click: () => toggle(live)},
  }, n(count, "{count} passage found", "{count} passages found"), " ", h("kbd", {"aria-hidden": "true"}, "s"));
}

function toggle(live) {
  if (panelShows(PANEL)) closePanel();
  else openPanel({name: PANEL, title: t("Search results"), content: content(live)});
}

/** Add the results of new searches if the panel is open. */
export function updateFound(live) {
  if (panelShows(PANEL) && live.model.found.length !== shown) updatePanel(PANEL, content(live));
}

function content(live) {
  const {found} = live.model;
  shown = found.length;
  const quotes = found.flatMap((search) => search.passages.map(asQuote));
  return found.map((search) => h("section", {},
    h("h3", {class: "query"}, shorten(search.queries.join("; "), 200)),
    h("p", {class: "note"}, foundIn(search), repeated(search)),
    h("ul", {class: "sources"}, search.passages.map((each) => h("li", {},
      h("button", {type: "button", class: "source", "data-key": `found ${each.number}`, on: {click: () => openQuote(quotes, each.number, live.collection, {label: t("Passage")})}},
        h("span", {class: "where"}, [each.name, pages(each.pages, each.printed_pages), each.section.at(-1)].filter(Boolean).join(", ")),
        h("span", {class: "words"}, quoteNodes(each.excerpt)), reason(each)))))));
}

/** How many passages a search found, and in how many documents. */
export function foundIn({chunks_found: passages, documents_found: found, documents}) {
  return t("{passages} in {documents}", {passages: plural(passages, "passage"), documents: plural(found, "document")}) + within(documents);
}

/** Why a search found a passage: the words of the queries that it has, and how near its meaning is. */
export function reason({words = [], cosine}) {
  const meaning = cosine != null && t("meaning {cosine}", {cosine: decimal(cosine, 2)});
  const parts = [words.length > 0 && t("words: {words}", {words: words.join(", ")}), meaning].filter(Boolean);
  return parts.length > 0 && h("span", {class: "note"}, parts.join(" · "));
}

function repeated({passages, chunks_found: found}) {
  return found > 0 && passages.length === 0 ? `, ${t("all found by an earlier search")}` : "";
}

/** A found passage as a quote that can be opened. */
export function asQuote({number, name, document_id: id, pages: on, printed_pages, start, end, excerpt, origin}) {
  return {number, document: name, document_id: id, pages: on, printed_pages, start, end, quote: excerpt, origin};
}
