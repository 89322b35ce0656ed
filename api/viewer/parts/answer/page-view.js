/* The image of a page with the quotes highlighted. */

import * as api from "../../lib/api.js";
import {failure, h, loading} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {printedAs} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";

const ZOOMS = [1, 1.5, 2, 3]; // relative to the available width
const READABLE = 1000; // pixels of a page that needs no zoom
let zoom = 0; // the last choice; 0: as the current mark needs it

export class PageView {
  /**
   * View of the `count` pages of a document, starting at `page`. `marksOn(page)` returns the marks of a page: {boxes,
   * title, current, isRegion}. `uncertain` is shown if the current mark has no boxes. `turns`: whether it has buttons to
   * turn pages. `labels` are the printed numbers of pages. `name` is the document in the label of the page.
   */
  constructor({document, collection, page, count, marksOn, uncertain, turns = true, labels = {}, name = t("the document")}) {
    this.document = document; this.collection = collection; this.page = page; this.count = count;
    this.marksOn = marksOn; this.labels = labels; this.place = null;
    this.sheet = h("div", {class: "sheet"});
    this.frame = h("div", {class: "frame", tabindex: "0", role: "region", "aria-label": t("Page of {name}", {name})}, this.sheet);
    this.number = h("span", {role: "status", class: turns ? "" : "hidden"});
    this.notLocated = h("p", {class: "note", hidden: true}, uncertain);
    const turnButton = (by, label, sign) => h("button", {type: "button", class: "quiet", "aria-label": label, on: {click: () => this.turn(by)}}, sign);
    const zoomButton = (by, label, sign) => h("button", {type: "button", class: "quiet", "aria-label": label, on: {click: () => this.zoomBy(by)}}, sign);
    this.element = h("div", {class: "page-view"},
      h("div", {class: "tools"}, turns && turnButton(-1, t("Previous page"), "‹"), this.number, turns && turnButton(1, t("Next page"), "›"), zoomButton(-1, t("Zoom out"), "−"), zoomButton(1, t("Zoom in"), "+")),
      this.notLocated, this.frame);
  }

  /** Show the page. Throws Problem if there is no image. */
  async show() {
    const {document, collection, page} = this;
    this.number.textContent = `${t("page {page} of {count}", {page, count: this.count})}${printedAs(this.labels[page])}`;
    this.sheet.replaceChildren(loading());
    const [image, marks] = await Promise.all([api.pageImage(document, collection, page), this.marksOn(page)]);
    if (page !== this.page) return; // another page was chosen meanwhile
    const canvas = h("canvas", {width: image.width, height: image.height, role: "img", "aria-label": t("Page {page}", {page})});
    canvas.getContext("2d").drawImage(image, 0, 0);
    image.close();
    this.sheet.replaceChildren(canvas, ...marks.flatMap((mark) => mark.boxes.map((box) => marked(box, mark))));
    const current = marks.find((mark) => mark.current);
    this.notLocated.hidden = !current || current.boxes.length > 0;
    this.place = current?.boxes.length ? placeOf(current.boxes) : null;
    this.scale();
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
    const now = this.zoom;
    zoom = (by > 0 ? ZOOMS.find((each) => each > now) : ZOOMS.findLast((each) => each < now)) ?? now;
    this.scale();
  }

  /** The chosen zoom, or that which makes the current mark as wide as the frame, on a page that is too small to read. */
  get zoom() {
    if (zoom || !this.place) return zoom || 1;
    const {left, right} = this.place;
    return Math.max(1, Math.min(0.94 / (right - left), READABLE / this.frame.clientWidth));
  }

  /** Apply the zoom, and move the current mark into view. */
  scale() {
    this.sheet.style.width = `${this.zoom * 100}%`;
    if (!this.place) return;
    const {left, right, top} = this.place;
    this.frame.scrollLeft = (left + right) / 2 * this.sheet.clientWidth - this.frame.clientWidth / 2;
    this.frame.scrollTop = top * this.sheet.clientHeight - this.frame.clientHeight / 3;
    this.sheet.querySelector(".box.current").scrollIntoView({block: "nearest", inline: "nearest"});
  }
}

/** The place of boxes on their page. */
function placeOf(boxes) {
  const [lefts, tops, rights] = [0, 1, 2].map((at) => boxes.map((box) => box[at]));
  return {left: Math.min(...lefts), right: Math.max(...rights), top: Math.min(...tops)};
}

function marked([left, top, right, bottom], {title, current, isRegion}) {
  const box = h("span", {class: ["box", current && "current", isRegion && "region"].filter(Boolean).join(" "), title});
  for (const [name, share] of Object.entries({left, top, width: right - left, height: bottom - top})) box.style[name] = `${share * 100}%`;
  return box;
}
