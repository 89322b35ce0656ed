/* Search within a document, for an exact text or for passages by keywords and meaning. */

import * as api from "../../lib/api.js";
import {h} from "../../lib/dom.js";
import {pages, printedAs, shorten} from "../../lib/format.js";
import {n, t} from "../../lib/i18n.js";
import {quoteNodes} from "../answer/text-view.js";
import {choice, tryAction} from "../forms.js";
import {keepFocus, pagerBar} from "../pager.js";

const VISIBLE = 240; // characters of a passage that are surely visible in a list
const BATCH = 200; // places in one response
export const MODES = [["hybrid", t("by words and meaning")], ["words", t("by words")], ["meaning", t("by meaning")]];

export class Finder {
  /** `show(start, end)` shows a span of the document. */
  constructor(record, collection, show) {
    this.record = record; this.collection = collection; this.show = show; this.text = ""; this.places = [];
    this.total = 0; this.at = -1;
    this.input = h("input", {type: "search", required: true, "data-slash": true, placeholder: t("Find in this document"), "aria-label": t("Find in this document"), "aria-keyshortcuts": "/", on: {keydown: (event) => this.onKey(event)}});
    this.mode = choice("mode", MODES);
    this.mode.setAttribute("aria-label", t("Search passages by"));
    this.pager = h("div", {"aria-live": "polite"});
    this.found = h("div", {role: "region", "aria-label": t("Found")});
    this.errorBox = h("div", {});
    this.bar = h("div", {role: "search", class: "find-bar"},
      h("form", {class: "find", on: {submit: (event) => {
        event.preventDefault();
        this.submit(1);
      }}}, this.input,
      h("button", {type: "submit"}, t("Find")),
      this.mode,
      h("button", {type: "button", on: {click: () => this.search()}}, t("Search passages"))),
      this.pager);
    this.elements = [this.bar, this.errorBox, this.found];
  }

  onKey(event) {
    if (event.key !== "Enter" || !event.shiftKey) return;
    event.preventDefault();
    this.submit(-1);
  }

  /** Find the text. If it has already been found, go to the next or previous match. */
  submit(by) {
    const text = this.input.value.trim();
    if (!text) return;
    if (text === this.text && this.total) this.go(by);
    else tryAction(this.errorBox, () => this.find(text));
  }

  async find(text) {
    const {places, total} = await api.findInDocument(this.record.id, this.collection, text, 0);
    this.text = text; this.places = places; this.total = total; this.at = 0;
    if (total) {
      this.showPlace();
      return;
    }
    this.pager.replaceChildren();
    this.found.replaceChildren(h("p", {class: "note"}, t("The document does not contain “{text}”. Search passages also finds similar words.", {text: shorten(text, 80)})));
  }

  go(by) {
    tryAction(this.errorBox, async () => {
      this.at = (this.at + by + this.total) % this.total;
      await this.need(this.at);
      this.showPlace();
    });
  }

  /** Fetch the places around a number unless they are there. */
  async need(at) {
    if (this.places[at]) return;
    const first = at - at % BATCH;
    const {places} = await api.findInDocument(this.record.id, this.collection, this.text, first);
    places.forEach((place, offset) => { this.places[first + offset] = place; });
  }

  showPlace() {
    const place = this.places[this.at];
    keepFocus(this.pager, () => this.pager.replaceChildren(pagerBar(t("place"), this.at, this.total, (by) => this.go(by))));
    this.found.replaceChildren(
      h("p", {class: "note"}, place.page && `${t("Page {page}", {page: place.page})}${printedAs(place.printed_pages)}: `, "…", place.before, h("mark", {}, place.text), place.after, "…"));
    this.show(place.start, place.end);
  }

  search() {
    if (!this.input.reportValidity()) return;
    const words = this.input.value.trim();
    tryAction(this.errorBox, async () => {
      const hits = await api.searchDocument(this.record.id, this.collection, words, this.mode.value);
      this.text = ""; this.total = 0;
      this.pager.replaceChildren();
      this.found.replaceChildren(
        h("p", {class: "note"}, hits.length ? n(hits.length, "{count} passage, best first", "{count} passages, best first") : t("No passage was found.")),
        respelt(hits),
        h("ul", {class: "sources"}, hits.map((hit) => h("li", {}, passageButton(hit, () => this.show(hit.start, hit.end))))));
    });
  }
}

/** The words that no passage has, and those that were searched for instead. */
export function respelt(hits) {
  return Object.entries(hits[0]?.respelt ?? {}).map(([word, near]) => h("p", {class: "note"}, t("No passage has “{word}”. Searched for {near}.", {word, near: near.map((each) => `“${each}”`).join(", ")})));
}

/** The text of a passage from the sentence or row on that has the first of the words that a search found in it. */
function fromWords({text, words = []}) {
  const places = words.map((word) => text.toLowerCase().indexOf(word.toLowerCase())).filter((at) => at >= 0);
  const first = Math.min(...places);
  if (!places.length || first < VISIBLE) return text;
  const start = Math.max(text.lastIndexOf("\n", first), text.lastIndexOf(". ", first) + 1) + 1;
  return `… ${text.slice(start)}`;
}

/** A passage with its section and pages; a press shows it. `name`: of its document, `why` it was found. */
export function passageButton(passage, show, name = "", why = null) {
  const spans = passage.page_spans;
  const printed = spans.some((span) => span.label) ? [...new Set([spans[0], spans.at(-1)].map((span) => span.label ?? span.number))].join(" to ") : "";
  const where = [name, pages(spans.map((span) => span.number), printed), passage.section.join(" › ")].filter(Boolean).join(", ");
  return h("button", {type: "button", class: "source", on: {click: show}},
    h("span", {class: "where"}, where || t("Passage {index}", {index: passage.index + 1})), h("span", {class: "words"}, quoteNodes(fromWords(passage), 400)), why);
}
