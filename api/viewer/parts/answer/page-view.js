/* The image of a page with the quotes highlighted. */

import * as api from "../../lib/api.js";
import {failure, h, loading} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";

const NOT_LOCATED = "The exact position of the quote on this page is unknown. Choose Text to see it.";
const ZOOMS = [1, 1.5, 2, 3]; // relative to the available width
let zoom = 0; // index of the last choice

export class PageView {
  /** View of the `count` pages of the quote's document, starting at the page of the quote. */
  constructor(quotes, quote, collection, count) {
    Object.assign(this, {quotes, quote, collection, count, page: quote.pages[0]});
    this.sheet = h("div", {class: "sheet"});
    this.frame = h("div", {class: "frame", tabindex: "0", role: "region", "aria-label": "Page of the document"}, this.sheet);
    this.number = h("span", {role: "status"});
    this.notLocated = h("p", {class: "note", hidden: true}, NOT_LOCATED);
    const turnButton = (by, label, sign) => h("button", {type: "button", class: "quiet", "aria-label": label, on: {click: () => this.turn(by)}}, sign);
    const zoomButton = (by, label, sign) => h("button", {type: "button", class: "quiet", "aria-label": label, on: {click: () => this.zoomBy(by)}}, sign);
    this.element = h("div", {class: "page-view"},
      h("div", {class: "tools"}, turnButton(-1, "Previous page", "‹"), this.number, turnButton(1, "Next page", "›"), zoomButton(-1, "Zoom out", "−"), zoomButton(1, "Zoom in", "+")),
      this.notLocated, this.frame);
  }

  /** Show the page. Throws Problem if there is no image. */
  async show() {
    const {quote, quotes, collection, page} = this;
    this.number.textContent = `page ${page} of ${this.count}`;
    this.sheet.replaceChildren(loading());
    const here = quotes.filter((each) => each.document_id === quote.document_id && each.pages.includes(page));
    const [image, ...boxes] = await Promise.all([
      api.pageImage(quote.document_id, collection, page),
      ...here.map((each) => each.picture ? regionOf(each.picture) : api.pageBoxes(quote.document_id, collection, page, each.start, each.end)),
    ]);
    if (page !== this.page) return; // another page was chosen meanwhile
    const canvas = h("canvas", {width: image.width, height: image.height, role: "img", "aria-label": `Page ${page}`});
    canvas.getContext("2d").drawImage(image, 0, 0);
    image.close();
    this.sheet.replaceChildren(canvas, ...here.flatMap((each, at) => boxes[at].boxes.map((box) => marked(box, each, each === quote))));
    const found = boxes[here.indexOf(quote)];
    this.notLocated.hidden = !found || found.located;
    this.notLocated.textContent = quote.picture ? "The model did not say where on this page it read this." : NOT_LOCATED;
    this.scale();
    this.sheet.querySelector(".box.current")?.scrollIntoView({block: "center", inline: "center"});
  }

  async turn(by) {
    const to = this.page + by;
    if (to < 1 || to > this.count) return;
    this.page = to;
    try {
      await this.show();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.sheet.replaceChildren(failure(error));
    }
  }

  zoomBy(by) {
    zoom = Math.min(ZOOMS.length - 1, Math.max(0, zoom + by));
    this.scale();
  }

  scale() {
    this.sheet.style.width = `${ZOOMS[zoom] * 100}%`;
  }
}

/** Return the model's region in the format of the boxes that the service returns for quotes. */
function regionOf({region}) {
  return {located: Boolean(region), boxes: region ? [region] : []};
}

function marked([left, top, right, bottom], quote, current) {
  const box = h("span", {class: ["box", current && "current", quote.picture && "region"].filter(Boolean).join(" "), title: `[${quote.number}] ${quote.quote}`});
  for (const [name, share] of Object.entries({left, top, width: right - left, height: bottom - top})) box.style[name] = `${share * 100}%`;
  return box;
}
