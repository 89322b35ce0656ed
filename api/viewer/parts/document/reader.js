/* The content of a document: page by page, as pictures or text, or as one text if it has no pages. */

import * as api from "../../lib/api.js";
import {failure, h, loading} from "../../lib/dom.js";
import {Problem, RequestError} from "../../lib/errors.js";
import {printedAs} from "../../lib/format.js";
import {number, phrase, t} from "../../lib/i18n.js";
import {PageView} from "../answer/page-view.js";
import {revealMark, showPart, textNodes} from "../answer/text-view.js";

const AROUND = 3600; // characters before and after a span of a document without pages
const DRAWN = /^(application\/pdf|image\/)/; // documents whose pages have pictures
let asText = false; // the last choice between page and text

export class Reader {
  /** `turned(page)` is called when the reader turns to a page. `name` tells two readers on a page apart. */
  constructor(record, collection, turned, name = t("the document")) {
    this.name = name; this.record = record; this.collection = collection; this.turned = turned; this.count = 0;
    this.labels = {}; this.page = 1; this.mark = null; this.requests = 0;
    this.bar = h("div", {class: "page-bar"});
    this.body = h("div", {});
    this.element = h("div", {class: "reader"}, this.bar, this.body);
  }

  /** Show a page, or the start of a document without pages. */
  showPage(page) {
    this.mark = null;
    return this.load(() => api.documentText(this.record.id, this.collection, {start: 0, limit: 2 * AROUND}), page);
  }

  /** Show a span of the text, highlighted, on its page. */
  showSpan(start, end) {
    this.mark = {start, end, current: true};
    const from = Math.max(0, start - AROUND);
    return this.load(() => api.documentText(this.record.id, this.collection, {start: from, limit: end + AROUND - from}));
  }

  /** Fetch a part of the text, then show it, or the page that it belongs to. */
  async load(fetch, page = null) {
    const request = ++this.requests;
    if (!this.body.firstChild) this.body.replaceChildren(loading());
    try {
      const part = await fetch();
      if (request !== this.requests) return;
      this.labels = part.page_labels ?? {};
      this.count = Math.max(part.page_count, part.page_count && this.record.pages);
      if (this.count) await this.open(page ?? pageAt(part, this.mark.start), request);
      else this.showText(part, (start, limit) => api.documentText(this.record.id, this.collection, {start, limit}));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (request === this.requests) this.body.replaceChildren(failure(error));
    }
  }

  async open(page, request = ++this.requests) {
    this.page = Math.min(Math.max(page, 1), this.count);
    this.drawBar();
    if (!this.hasPictures || asText) {
      await this.openText(request);
      return;
    }
    try {
      await this.openPicture();
    } catch (error) {
      if (!(error instanceof Problem)) throw error; // no picture: show the text
      await this.openText(request);
      this.body.prepend(h("p", {class: "note"}, t("No picture of this page. {message}", {message: error.message})));
    }
  }

  get hasPictures() {
    return DRAWN.test(this.record.mime_type);
  }

  async openText(request) {
    const part = await api.documentText(this.record.id, this.collection, {page: this.page});
    if (request !== this.requests) return;
    if (!part.text.trim()) this.body.replaceChildren(h("p", {class: "note"}, t("This page has no text.")));
    else this.body.replaceChildren(h("div", {class: "document", tabindex: "0", role: "region", "aria-label": t("Text of page {page} of {name}", {page: this.page, name: this.name})}, textNodes({...part, pages: []}, this.marks)));
    revealMark(this.body);
  }

  async openPicture() {
    const {record, collection} = this;
    const view = new PageView({
      document: record.id, collection, page: this.page, count: this.count, name: this.name,
      marksOn: (page) => this.boxesOn(page),
      uncertain: t("The exact position on this page is unknown. Choose Text to see it."),
      turns: false,
    });
    this.body.replaceChildren(view.element);
    await view.show();
  }

  async boxesOn(page) {
    if (!this.mark || page !== this.page) return [];
    const {start, end} = this.mark;
    const {boxes} = await api.pageBoxes(this.record.id, this.collection, page, start, end);
    return [{boxes, title: "", current: true}];
  }

  get marks() {
    return this.mark ? [this.mark] : [];
  }

  showText(part, more) {
    showPart(this.body, part, this.marks, more, this.name);
    revealMark(this.body);
  }

  /** Draw the choice between page and text, the page number, and the buttons that turn the page. */
  drawBar() {
    const labelled = Object.keys(this.labels).length > 0; // then the person may enter a printed number
    const input = h("input", {...labelled ? {type: "text", size: 5} : {type: "number", min: 1, max: this.count}, value: this.page, required: true, "aria-label": t("Page number")});
    const turn = (by, label, sign) => h("button", {type: "button", class: "quiet", "aria-label": label, disabled: this.page + by < 1 || this.page + by > this.count, on: {click: () => this.go(this.page + by)}}, sign);
    this.bar.replaceChildren(...[
      this.hasPictures && h("div", {class: "filter", role: "group", "aria-label": t("Shown as")}, this.choice(t("Page"), false), this.choice(t("Text"), true)),
      h("form", {class: "inline", on: {submit: (event) => {
        event.preventDefault();
        this.go(this.pageOf(input.value.trim()));
      }}}, turn(-1, t("Previous page"), "‹"), h("label", {}, phrase("Page {page} of {count}", {page: input, count: number(this.count)}), printedAs(this.labels[this.page])), h("button", {type: "submit", class: "quiet"}, t("Go")), turn(1, t("Next page"), "›")),
    ].filter(Boolean));
  }

  choice(label, text) {
    return h("button", {type: "button", "aria-pressed": String(asText === text), on: {click: () => {
      asText = text;
      this.act(() => this.open(this.page));
    }}}, label);
  }

  /** Return the page with this number or, if there is none, with this printed number; else the current page. */
  pageOf(text) {
    const page = Number(text);
    if (page >= 1 && page <= this.count) return Math.floor(page);
    const found = Object.entries(this.labels).find(([, label]) => label.toLowerCase() === text.toLowerCase());
    return Number(found?.[0] ?? this.page);
  }

  go(page) {
    this.mark = null;
    this.turned(page);
    this.act(() => this.open(page));
  }

  async act(action) {
    try {
      await action();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.body.replaceChildren(failure(error));
    }
  }
}

/** Return the page of an offset in a part of a text. */
function pageAt(part, offset) {
  return (part.pages.findLast((page) => page.start <= offset) ?? part.pages[0]).number;
}
