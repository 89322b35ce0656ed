/* A quote where it stands: the parsed text of its document around it, with what was quoted highlighted. */

import * as api from "./api.js";
import {failure, h, loading} from "./dom.js";
import {Problem} from "./errors.js";
import {openPanel, panel, panelShows} from "./panel.js";
import {offsetsIn, pieces} from "./spans.js";
import {table} from "./tables.js";
import {keepingFocus, walkBar, walkKeys} from "./walk.js";
import {fileName, many, pages} from "./words.js";

const AROUND = 1800; // characters that are shown before and after the quote, and how many more at a time
const texts = new Map(); // the documents that were opened, by collection and id

/** Open a quote of a list of quotes; the others are one key away. */
export function openQuote(quotes, number, collection) {
  const at = quotes.findIndex((each) => each.number === number);
  const quote = quotes[at];
  if (!quote) return;
  const go = (step) => keepingFocus(panel, () =>
    openQuote(quotes, quotes[(at + step + quotes.length) % quotes.length].number, collection));
  const body = h("div", {class: "evidence-text"}, loading());
  const head = h("p", {class: "facts"}, h("strong", {title: quote.document}, fileName(quote.document)), quote.pages.length > 0 && h("span", {}, pages(quote.pages)));
  const name = `quote ${number}`;
  openPanel({
    name,
    title: `Evidence [${number}]`,
    content: [quotes.length > 1 && walkBar("quote", at, quotes.length, go), head, h("blockquote", {}, quote.quote), body],
    key: walkKeys(go),
  });
  fill(body, quotes, quote, collection, name);
}

async function fill(body, quotes, quote, collection, name) {
  try {
    const document = await textOf(quote.document_id, collection);
    if (!panelShows(name)) return;
    const marks = quotes.filter((each) => each.document_id === quote.document_id).map((each) => ({
      number: each.number, start: document.offset(each.start), end: document.offset(each.end), current: each === quote,
    }));
    around(body, document, marks, quote);
  } catch (error) {
    const gone = error instanceof Problem && error.status === 404;
    const words = gone ? Object.assign(new Error("It was taken out of its collection since this was answered. The quote is what was read then."), {title: "The document is gone"}) : error;
    body.replaceChildren(failure(words, gone ? null : () => fill(body, quotes, quote, collection, name)));
  }
}

async function textOf(id, collection) {
  const key = `${collection}/${id}`;
  if (!texts.has(key)) {
    const {text, pages: spans} = await api.documentText(id, collection);
    const offset = offsetsIn(text);
    texts.set(key, {text, offset, breaks: spans.map((page) => ({at: offset(page.start), number: page.number}))});
  }
  return texts.get(key);
}

/** The text around the quote, more of it on demand. */
function around(body, document, marks, quote) {
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

/** Open a computation: the query, its result, and the quotes of the records behind it. */
export function openComputation(answer, number, collection) {
  const computed = answer.computations.find((each) => each.number === number);
  if (!computed) return;
  openPanel({
    name: `computation ${number}`,
    title: `Computed [C${number}]`,
    content: [
      h("p", {}, computed.purpose),
      ...computation(computed),
      computed.evidence.length > 0 && h("h3", {}, `Made from ${many(computed.evidence.length, "quote")}`),
      h("ul", {class: "sources"}, computed.evidence.map((quote) => h("li", {},
        h("button", {type: "button", class: "source", on: {click: () => openQuote(computed.evidence, quote.number, collection)}},
          h("span", {class: "where"}, `[${quote.number}] ${fileName(quote.document)}`), h("span", {class: "words"}, quote.quote))))),
    ],
  });
}

/** Query and result. */
export function computation(computed) {
  return [
    h("pre", {class: "sql"}, computed.sql),
    table(computed.columns, computed.rows),
    computed.truncated && h("p", {class: "note"}, "There were more rows, which are not kept."),
    computed.flaws.length > 0 && h("p", {class: "note"}, `Left out, as they do not fit: ${computed.flaws.join("; ")}`),
  ].filter(Boolean);
}
