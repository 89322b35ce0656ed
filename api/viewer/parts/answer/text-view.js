/* The parsed text of a document around a quote, with all quotes highlighted. */

import * as api from "../../lib/api.js";
import {failure, h} from "../../lib/dom.js";
import {offsetsIn, segments} from "../../lib/spans.js";

const AROUND = 1800; // characters shown before and after the quote
const texts = new Map(); // cache of documents, by collection and id

/** Return a document's text with the offsets of its pages. */
export async function textOf(id, collection) {
  const key = `${collection}/${id}`;
  if (!texts.has(key)) {
    const {text, pages: spans} = await api.documentText(id, collection);
    const offset = offsetsIn(text);
    texts.set(key, {text, offset, breaks: spans.map((page) => ({at: offset(page.start), number: page.number}))});
  }
  return texts.get(key);
}

/** Show the text around the quote, with buttons for more. */
export function textAround(body, document, marks, quote) {
  const current = marks.find((mark) => mark.current);
  if (document.text.slice(current.start, current.end) !== quote.quote) {
    const error = new Error("Its text has changed since this answer was written, so the quote is no longer at its position.");
    body.replaceChildren(failure(Object.assign(error, {title: "Document changed"})));
    return;
  }
  let from = Math.max(0, current.start - AROUND);
  let to = Math.min(document.text.length, current.end + AROUND);
  const more = (label, widen) => h("button", {type: "button", class: "quiet", on: {click: () => { widen(); draw(false); }}}, label);
  const draw = (first) => {
    body.replaceChildren(...[
      from > 0 && more("Show earlier text", () => { from = Math.max(0, from - AROUND * 4); }),
      h("div", {class: "document", tabindex: "0", role: "region", "aria-label": "Text of the document"}, marked(document, from, to, marks)),
      to < document.text.length && more("Show later text", () => { to = Math.min(document.text.length, to + AROUND * 4); }),
    ].filter(Boolean));
    if (first) body.querySelector("mark.current")?.scrollIntoView({block: "center"});
  };
  draw(true);
}

function marked(document, from, to, marks) {
  const breaks = document.breaks.filter((page) => page.at > from && page.at < to);
  const cut = [...marks, ...breaks.map((page) => ({start: page.at, end: page.at}))];
  return segments(document.text, from, to, cut).map((segment) => {
    const page = breaks.find((each) => each.at === segment.start);
    const covering = segment.marks.filter((mark) => mark.number);
    const current = covering.some((mark) => mark.current);
    const words = covering.length
      ? h("mark", {class: current ? "current" : "", title: covering.map((mark) => `[${mark.number}]`).join(" ")}, segment.text)
      : segment.text;
    return [page && h("span", {class: "page-break"}, `page ${page.number}`), words];
  });
}
