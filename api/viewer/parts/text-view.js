/* The parsed text of a document around a quote, with all that was quoted from it highlighted. */

import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";
import {offsetsIn, pieces} from "../lib/spans.js";

const AROUND = 1800; // characters that are shown before and after the quote, and how many more at a time
const texts = new Map(); // the documents that were opened, by collection and id

/** A document's text, with the places where its pages begin. */
export async function textOf(id, collection) {
  const key = `${collection}/${id}`;
  if (!texts.has(key)) {
    const {text, pages: spans} = await api.documentText(id, collection);
    const offset = offsetsIn(text);
    texts.set(key, {text, offset, breaks: spans.map((page) => ({at: offset(page.start), number: page.number}))});
  }
  return texts.get(key);
}

/** The text around the quote, more of it on demand. */
export function textAround(body, document, marks, quote) {
  const current = marks.find((mark) => mark.current);
  if (document.text.slice(current.start, current.end) !== quote.quote) {
    const words = new Error("Its text is another one than when this was answered, and the quote does not stand at its place any more.");
    body.replaceChildren(failure(Object.assign(words, {title: "The document has changed"})));
    return;
  }
  let from = Math.max(0, current.start - AROUND);
  let to = Math.min(document.text.length, current.end + AROUND);
  const more = (label, widen) => h("button", {type: "button", class: "quiet", on: {click: () => { widen(); draw(false); }}}, label);
  const draw = (first) => {
    body.replaceChildren(...[
      from > 0 && more("Earlier text", () => { from = Math.max(0, from - AROUND * 4); }),
      h("div", {class: "document", tabindex: "0", role: "region", "aria-label": "Text of the document"}, marked(document, from, to, marks)),
      to < document.text.length && more("Later text", () => { to = Math.min(document.text.length, to + AROUND * 4); }),
    ].filter(Boolean));
    if (first) body.querySelector("mark.current")?.scrollIntoView({block: "center"});
  };
  draw(true);
}

function marked(document, from, to, marks) {
  const breaks = document.breaks.filter((page) => page.at > from && page.at < to);
  const cut = [...marks, ...breaks.map((page) => ({start: page.at, end: page.at}))];
  return pieces(document.text, from, to, cut).map((piece) => {
    const page = breaks.find((each) => each.at === piece.start);
    const covering = piece.marks.filter((mark) => mark.number);
    const current = covering.some((mark) => mark.current);
    const words = covering.length
      ? h("mark", {class: current ? "current" : "", title: covering.map((mark) => `[${mark.number}]`).join(" ")}, piece.text)
      : piece.text;
    return [page && h("span", {class: "page-break"}, `page ${page.number}`), words];
  });
}
