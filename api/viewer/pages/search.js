/* Search of passages, without a language model. */

import * as api from "../lib/api.js";
import {empty, h, loading, replace} from "../lib/dom.js";
import {n, t} from "../lib/i18n.js";
import {openQuote} from "../parts/answer/evidence.js";
import {collectionChoice, keepCollection} from "../parts/ask/collection.js";
import {filterOption} from "../parts/ask/filter.js";
import {MODES, passageButton, respelt} from "../parts/document/find.js";
import {choice, tryAction} from "../parts/forms.js";
import {showLoaded} from "../parts/loaded.js";
import {hasRoom} from "../parts/panel.js";
import {reason} from "../parts/run/found.js";

const FIRST = 10; // hits; each press of "Show more" asks for three times as many
const MOST = 1000;
const last = {query: "", mode: "hybrid"}; // kept between visits of the page

/** Show the form; with `words`, search the collection for them. */
export function showSearch(container, collection, words) {
  if (collection) keepCollection(collection);
  if (words) last.query = words;
  return showLoaded(container, t("Search"), api.collections, (collections) => {
    if (!collections.length) return [h("h1", {}, t("Search")), empty(t("No documents yet"), h("a", {href: "#/documents"}, t("Add documents")))];
    const search = searchForm(collections);
    if (words) search.run();
    return [h("h1", {}, t("Search")), h("p", {class: "note"}, t("Finds passages without a language model. A phrase in quotation marks must stand in the passage; -word excludes passages.")), ...search.elements];
  });
}

function searchForm(collections) {
  const errorBox = h("div", {});
  const found = h("section", {"aria-label": t("Found"), "aria-live": "polite"});
  const query = h("input", {type: "search", name: "query", required: true, maxlength: 2000, value: last.query, "data-slash": true, "aria-label": t("Search the passages"), placeholder: t("Words or a question")});
  const mode = choice("mode", MODES, last.mode);
  const [collection, filter] = [collectionChoice(collections, () => {}), filterOption()];
  const run = (limit = FIRST) => tryAction(errorBox, async () => {
    Object.assign(last, {query: query.value, mode: mode.value});
    const selection = collection.value();
    keepCollection(selection);
    if (limit === FIRST) replace(found, loading(t("Searching")));
    try {
      const {hits, note} = await api.search({query: query.value, collection: selection, mode: mode.value, limit, ...filter.values()});
      replace(found, results(hits, note, selection, limit, run));
    } catch (error) {
      replace(found);
      throw error;
    }
  });
  const form = h("form", {class: "ask", role: "search", on: {submit: (event) => {
    event.preventDefault();
    run();
  }}}, query,
  h("div", {class: "choices"}, collection.element, h("label", {}, t("Search"), mode), h("button", {type: "submit", class: "main"}, t("Search"))),
  collection.several, collection.notice, filter.element);
  return {elements: [form, errorBox, found], run};
}

function results(hits, note, selection, limit, run) {
  const quotes = hits.map(asQuote);
  const open = (number) => openQuote(quotes, number, selection, {label: t("Passage"), still: hasRoom()});
  return [
    h("p", {class: "note"}, hits.length ? count(hits.length, hits.length === limit) : t("No passage was found.")),
    note && h("p", {class: "note"}, note), respelt(hits),
    h("ol", {class: "sources"}, hits.map((hit, at) => h("li", {}, passageButton(hit, () => open(at + 1), hit.name, reason(hit))))),
    hits.length === limit && limit < MOST && h("button", {type: "button", "data-key": "more", on: {click: () => run(Math.min(MOST, limit * 3))}}, t("Show more")),
  ];
}

function count(found, more) {
  return more ? n(found, "{count} passage or more, best first", "{count} passages or more, best first")
    : n(found, "{count} passage, best first", "{count} passages, best first");
}

function asQuote({name, document_id, page_spans: spans, section, start, end, text}, at) {
  return {number: at + 1, document: name, document_id, pages: spans.map((span) => span.number), section, start, end, quote: text};
}
