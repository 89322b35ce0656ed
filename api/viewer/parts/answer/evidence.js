/* A quote in its context: on its page, in the text of its document, or in what a web page or a tool returned. */

import {boxesOn, moreText, placed, surroundings} from "./contexts.js";
import {failure, h, loading} from "../../lib/dom.js";
import {Problem, RequestError} from "../../lib/errors.js";
import {PageView} from "./page-view.js";
import {givenSource, isGiven} from "./given.js";
import {openPanel, panel, panelShows} from "../panel.js";
import {table} from "../tables.js";
import {hasText, quoteNodes, revealMark, showPart} from "./text-view.js";
import {keepFocus, pagerBar, pagerKeys} from "../pager.js";
import {collectionOf, documentPlace, formatTime, placeIn, sourceName} from "../../lib/format.js";
import {n, t} from "../../lib/i18n.js";

const NOT_LOCATED = t("The exact position of the quote on this page is unknown. Choose Text to see it.");
const GONE = {
  missing: {title: t("Document removed"), message: t("The document was removed after this answer was written. The quote shows its text at that time.")},
  changed: {title: t("Document changed"), message: t("The document has changed since this answer was written, so the position of the quote is unknown.")},
};
const MOVED = t("The text of this document has changed since this answer was written. The quote is now at another place.");
let asText = false; // the last choice between page and text

/**
 * Open a quote from a list of quotes. The pager opens the others. `label` names the kind of quotes. `runId` is the run
 * that stores the texts of web pages and tools. Without it, only the quote is shown. `base` is the address of the page,
 * to which the number of the open quote is appended. `intro` is content above the quote. `still`: leave the focus.
 */
export function openQuote(quotes, wanted, selection, options = {}) {
  const {label = t("Evidence"), runId = "", base = "", intro = null, still = false} = options;
  const at = quotes.findIndex((each) => each.number === wanted);
  const quote = quotes[at];
  const name = `${label} ${wanted}`;
  const address = base && `${base}/${wanted}`;
  const showAddress = (shown) => history.replaceState(history.state, "", shown);
  const closed = () => address && location.hash === address && showAddress(base);
  if (!quote) {
    openPanel({name, title: `${label} [${wanted}]`, closed, content: [h("p", {class: "note"}, n(quotes.length, "This answer has no quote {number}. It has {count} quote.", "This answer has no quote {number}. It has {count} quotes.", {number: wanted}))]});
    return;
  }
  if (address && location.hash !== address) showAddress(address);
  const go = (step) => keepFocus(panel, () =>
    openQuote(quotes, quotes[(at + step + quotes.length) % quotes.length].number, selection, options));
  const collection = collectionOf(selection, quote);
  const body = h("div", {}, loading());
  const head = h("p", {class: "facts"}, h("strong", {}, sourceName(quote)), quote.origin?.read_at && h("span", {}, t("read at {time}", {time: formatTime(quote.origin.read_at)})), placeIn(quote) && h("span", {}, placeIn(quote)), !quote.origin && h("a", {href: documentPlace(collection, quote)}, t("Open document")));
  openPanel({
    name, still,
    closed: options.closed ?? closed,
    title: `${label} [${wanted}]`,
    content: [
      intro, quotes.length > 1 && pagerBar(t("quote"), at, quotes.length, go), head,
      quote.picture && h("p", {class: "note"}, t("A model read this in the picture of page {page}. It is not verified.", {page: quote.picture.page})),
      h(quote.picture ? "p" : "blockquote", {}, quoteNodes(quote.quote)), body,
    ],
    key: pagerKeys(go),
  });
  if (isGiven(quote)) body.replaceChildren(...givenSource(quote));
  else fill(body, {quotes, quote, collection, runId, isOpen: () => panelShows(name)});
}

/** Show the page of the quote or, without pages or by choice, the text around it. */
async function fill(body, what) {
  const {collection, runId} = what;
  if (what.quote.origin && !runId) {
    body.replaceChildren(h("p", {class: "note"}, t("You can open its text when the run has ended.")));
    return;
  }
  try {
    const part = await surroundings(what.quote, collection, runId);
    const quotes = await placed(what.quotes, runId);
    if (!what.isOpen()) return;
    if (GONE[part.state]) {
      body.replaceChildren(failure(GONE[part.state]));
      return;
    }
    const quote = quotes.find((each) => each.number === what.quote.number);
    const now = {...what, quotes, quote};
    const container = h("div", {});
    const paged = quote.pages.length > 0 && !quote.origin;
    const note = part.state === "moved" && h("p", {class: "note"}, MOVED);
    body.replaceChildren(...[note, paged && !quote.picture && switcher(() => fill(body, what)), container].filter(Boolean)); // a picture reading has no place in the text
    if (paged && (quote.picture || !asText)) await fillPage(container, part, now);
    else fillText(container, part, now);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    body.replaceChildren(failure(error, () => fill(body, what)));
  }
}

async function fillPage(container, part, what) {
  const {quotes, quote, collection, runId} = what;
  const marksOn = (page) => Promise.all(quotes
    .filter((each) => each.document_id === quote.document_id && each.pages.includes(page))
    .map(async (each) => ({boxes: await boxesOn(page, each, collection, runId), title: `[${each.number}] ${each.quote}`, current: each === quote, isRegion: Boolean(each.picture)})));
  const view = new PageView({
    document: quote.document_id, collection, page: quote.pages[0], count: part.page_count, marksOn, labels: part.page_labels,
    uncertain: quote.picture ? t("The model did not state the position on this page.") : NOT_LOCATED,
  });
  container.replaceChildren(view.element);
  try {
    await view.show();
  } catch (error) {
    if (!(error instanceof Problem)) throw error; // no image: show the text
    container.replaceChildren(h("p", {class: "note"}, t("No image of this page. {message}", {message: error.message})));
    if (quote.picture) return;
    const text = h("div", {});
    container.append(text);
    fillText(text, part, what);
  }
}

function fillText(container, part, {quotes, quote, collection, runId}) {
  if (!hasText(part, quote.start, quote.end, quote.quote)) {
    container.replaceChildren(failure(GONE.changed));
    return;
  }
  const marks = quotes.filter((each) => each.document_id === quote.document_id && !each.picture)
    .map((each) => ({label: `[${each.number}]`, start: each.start, end: each.end, current: each === quote}));
  showPart(container, part, marks, (start, limit) => moreText(quote, collection, runId, start, limit));
  revealMark(container);
}

function switcher(redraw) {
  const button = (label, text) => h("button", {type: "button", "aria-pressed": String(asText === text), "data-key": label, on: {click: () => {
    asText = text;
    redraw();
  }}}, label);
  return h("div", {class: "filter", role: "group", "aria-label": t("Shown as")}, button(t("Page"), false), button(t("Text"), true));
}

/** Open a computation: the query, its result, and the quotes of its records. */
export function openComputation(answer, number, collection) {
  const computed = answer.computations.find((each) => each.number === number);
  if (!computed) return;
  openPanel({
    name: `computation ${number}`,
    title: t("Computed [C{number}]", {number}),
    content: [
      h("p", {}, computed.purpose),
      ...computation(computed),
      computed.evidence.length > 0 && h("h3", {}, n(computed.evidence.length, "Based on {count} quote", "Based on {count} quotes")),
      h("ul", {class: "sources"}, computed.evidence.map((quote) => h("li", {},
        h("button", {type: "button", class: "source", on: {click: () => openQuote(computed.evidence, quote.number, collection)}},
          h("span", {class: "where"}, `[${quote.number}] ${sourceName(quote)}`), h("span", {class: "words"}, quoteNodes(quote.quote)))))),
    ],
  });
}

/** The query and its result. */
export function computation(computed) {
  return [
    h("pre", {class: "sql"}, computed.sql),
    table(computed.columns, computed.rows),
    computed.truncated && h("p", {class: "note"}, t("The result was truncated.")),
    computed.source && h("p", {class: "note"}, t("From {source}.", {source: computed.source})),
    computed.flaws.length > 0 && h("p", {class: "note"}, `${computed.source ? t("Not covered") : t("Ignored values")}: ${computed.flaws.join("; ")}`),
  ].filter(Boolean);
}
