/* A quote in its context: on its page, in the text of its document, or in what a web page or a tool returned. */

import * as api from "../../lib/api.js";
import {failure, h, loading} from "../../lib/dom.js";
import {Problem} from "../../lib/errors.js";
import {PageView} from "./page-view.js";
import {givenSource, isGiven} from "./given.js";
import {openPanel, panel, panelShows} from "../panel.js";
import {table} from "../tables.js";
import {textAround, textOf} from "./text-view.js";
import {keepFocus, pagerBar, pagerKeys} from "../pager.js";
import {formatTime, placeIn, plural, sourceName} from "../../lib/format.js";
import {offsetsIn} from "../../lib/spans.js";

let asText = false; // the last choice between page and text

/**
 * Open a quote from a list of quotes; the pager leads to the others. `label` says what the quotes are. `runId` is the
 * run that keeps the texts of web pages and tools; without it, only the quote is shown. `base` is the address of the
 * page: while a quote is open, its number follows.
 */
export function openQuote(quotes, number, collection, {label = "Evidence", runId = "", base = ""} = {}) {
  const at = quotes.findIndex((each) => each.number === number);
  const quote = quotes[at];
  const name = `${label} ${number}`;
  const address = base && `${base}/${number}`;
  const showAddress = (shown) => history.replaceState(history.state, "", shown);
  const closed = () => address && location.hash === address && showAddress(base);
  if (!quote) {
    openPanel({name, title: `${label} [${number}]`, closed, content: [h("p", {class: "note"}, `This answer has no quote ${number}. It has ${plural(quotes.length, "quote")}.`)]});
    return;
  }
  if (address && location.hash !== address) showAddress(address);
  const go = (step) => keepFocus(panel, () =>
    openQuote(quotes, quotes[(at + step + quotes.length) % quotes.length].number, collection, {label, runId, base}));
  const body = h("div", {}, loading());
  const head = h("p", {class: "facts"}, h("strong", {}, sourceName(quote)), quote.origin?.read_at && h("span", {}, `read at ${formatTime(quote.origin.read_at)}`), placeIn(quote) && h("span", {}, placeIn(quote)));
  openPanel({
    name, closed,
    title: `${label} [${number}]`,
    content: [
      quotes.length > 1 && pagerBar("quote", at, quotes.length, go), head,
      quote.picture && h("p", {class: "note"}, `Read from the picture of page ${quote.picture.page}. A model read it; no rule can verify it.`),
      h(quote.picture ? "p" : "blockquote", {}, quote.quote), body,
    ],
    key: pagerKeys(go),
  });
  if (isGiven(quote)) body.replaceChildren(...givenSource(quote));
  else fill(body, {quotes, quote, collection, runId, isOpen: () => panelShows(name)});
}

/** Show the page of the quote or, without pages or by choice, the text around it. */
async function fill(body, what) {
  try {
    if (what.quote.origin) {
      await fillKept(body, what);
      return;
    }
    const document = await textOf(what.quote.document_id, what.collection);
    if (!what.isOpen()) return;
    const container = h("div", {});
    if (what.quote.picture) { // a picture reading has no place in the text
      body.replaceChildren(container);
      await fillPage(container, document, what);
      return;
    }
    body.replaceChildren(...(what.quote.pages.length ? [switcher(() => fill(body, what))] : []), container);
    if (what.quote.pages.length && !asText) await fillPage(container, document, what);
    else fillText(container, document, what);
  } catch (error) {
    const gone = error instanceof Problem && error.status === 404;
    const shown = gone ? Object.assign(new Error("It was removed after this answer was written. The quote shows its text at that time."), {title: "Document removed"}) : error;
    body.replaceChildren(failure(shown, gone ? null : () => fill(body, what)));
  }
}

/** Show the text that the page or the tool returned. */
async function fillKept(body, what) {
  if (!what.runId) {
    body.replaceChildren(h("p", {class: "note"}, "Its text can be opened when the run has ended."));
    return;
  }
  const {text} = await api.keptText(what.runId, what.quote.number);
  if (what.isOpen()) fillText(body, {text, offset: offsetsIn(text), breaks: []}, what);
}

async function fillPage(container, document, what) {
  const view = new PageView(what.quotes, what.quote, what.collection, Math.max(...document.breaks.map((each) => each.number)));
  container.replaceChildren(view.element);
  try {
    await view.show();
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // no image: show the text
    container.replaceChildren(h("p", {class: "note"}, `No image of this page. ${error.message}`));
    if (what.quote.picture) return;
    const text = h("div", {});
    container.append(text);
    fillText(text, document, what);
  }
}

function fillText(container, document, {quotes, quote}) {
  const marks = quotes.filter((each) => each.document_id === quote.document_id && !each.picture).map((each) => ({
    number: each.number, start: document.offset(each.start), end: document.offset(each.end), current: each === quote,
  }));
  textAround(container, document, marks, quote);
}

function switcher(redraw) {
  const button = (label, text) => h("button", {type: "button", "aria-pressed": String(asText === text), "data-key": label, on: {click: () => {
    asText = text;
    redraw();
  }}}, label);
  return h("div", {class: "filter", role: "group", "aria-label": "Shown as"}, button("Page", false), button("Text", true));
}

/** Open a computation: the query, its result, and the quotes of its records. */
export function openComputation(answer, number, collection) {
  const computed = answer.computations.find((each) => each.number === number);
  if (!computed) return;
  openPanel({
    name: `computation ${number}`,
    title: `Computed [C${number}]`,
    content: [
      h("p", {}, computed.purpose),
      ...computation(computed),
      computed.evidence.length > 0 && h("h3", {}, `Based on ${plural(computed.evidence.length, "quote")}`),
      h("ul", {class: "sources"}, computed.evidence.map((quote) => h("li", {},
        h("button", {type: "button", class: "source", on: {click: () => openQuote(computed.evidence, quote.number, collection)}},
          h("span", {class: "where"}, `[${quote.number}] ${sourceName(quote)}`), h("span", {class: "words"}, quote.quote))))),
    ],
  });
}

/** The query and its result. */
export function computation(computed) {
  return [
    h("pre", {class: "sql"}, computed.sql),
    table(computed.columns, computed.rows),
    computed.truncated && h("p", {class: "note"}, "The result was truncated."),
    computed.flaws.length > 0 && h("p", {class: "note"}, `Ignored values: ${computed.flaws.join("; ")}`),
  ].filter(Boolean);
}
