/* A quote where it stands: on its page, or in the parsed text of its document, with what was quoted highlighted. */

import {failure, h, loading} from "../lib/dom.js";
import {Problem} from "../lib/errors.js";
import {PageView} from "./page-view.js";
import {openPanel, panel, panelShows} from "./panel.js";
import {table} from "./tables.js";
import {textAround, textOf} from "./text-view.js";
import {keepingFocus, walkBar, walkKeys} from "./pager.js";
import {fileName, many, pages} from "../lib/format.js";

let asText = false; // whether a person wants to see text where there are pages

/** Open a quote of a list of quotes; the others are one key away. */
export function openQuote(quotes, number, collection) {
  const at = quotes.findIndex((each) => each.number === number);
  const quote = quotes[at];
  if (!quote) return;
  const go = (step) => keepingFocus(panel, () =>
    openQuote(quotes, quotes[(at + step + quotes.length) % quotes.length].number, collection));
  const body = h("div", {}, loading());
  const head = h("p", {class: "facts"}, h("strong", {title: quote.document}, fileName(quote.document)), quote.pages.length > 0 && h("span", {}, pages(quote.pages)));
  const name = `quote ${number}`;
  openPanel({
    name,
    title: `Evidence [${number}]`,
    content: [quotes.length > 1 && walkBar("quote", at, quotes.length, go), head, h("blockquote", {}, quote.quote), body],
    key: walkKeys(go),
  });
  fill(body, {quotes, quote, collection, shown: () => panelShows(name)});
}

/** The quote's page, or the text around it: as it was chosen last, where the document has pages. */
async function fill(body, what) {
  try {
    const document = await textOf(what.quote.document_id, what.collection);
    if (!what.shown()) return;
    const place = h("div", {});
    body.replaceChildren(...(what.quote.pages.length ? [switcher(() => fill(body, what))] : []), place);
    if (what.quote.pages.length && !asText) await fillPage(place, document, what);
    else fillText(place, document, what);
  } catch (error) {
    const gone = error instanceof Problem && error.status === 404;
    const words = gone ? Object.assign(new Error("It was taken out of its collection since this was answered. The quote is what was read then."), {title: "The document is gone"}) : error;
    body.replaceChildren(failure(words, gone ? null : () => fill(body, what)));
  }
}

async function fillPage(place, document, what) {
  const view = new PageView(what.quotes, what.quote, what.collection, document.breaks.length);
  place.replaceChildren(view.element);
  try {
    await view.show();
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // the page cannot be drawn: its text can be read
    place.replaceChildren(h("p", {class: "note"}, `There is no image of this page. ${error.message}`));
    const text = h("div", {});
    place.append(text);
    fillText(text, document, what);
  }
}

function fillText(place, document, {quotes, quote}) {
  const marks = quotes.filter((each) => each.document_id === quote.document_id).map((each) => ({
    number: each.number, start: document.offset(each.start), end: document.offset(each.end), current: each === quote,
  }));
  textAround(place, document, marks, quote);
}

function switcher(again) {
  const button = (label, text) => h("button", {type: "button", "aria-pressed": String(asText === text), "data-key": label, on: {click: () => {
    asText = text;
    again();
  }}}, label);
  return h("div", {class: "filter", role: "group", "aria-label": "Shown as"}, button("Page", false), button("Text", true));
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
