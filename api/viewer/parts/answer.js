/* An answer with its claims; each mark opens what stands behind it. */

import {fold, h} from "../lib/dom.js";
import {openComputation, openQuote} from "./evidence.js";
import {exportMenu} from "./exports.js";
import {table} from "./tables.js";
import {costOf, fileName, many, pages, seconds, tokens} from "../lib/format.js";

const TAGS = {prose: "p", list: "ul", numbered_list: "ol"};

/** The answer of a run that has ended, in whatever way. */
export function answerView(answer, collection) {
  const quiet = answer.status === "answered";
  return h("section", {class: "answer", "aria-label": "Answer"},
    h("p", {class: "facts"},
      answer.confidence > 0 && h("span", {}, `confidence ${answer.confidence.toFixed(2)}`),
      answer.mode && h("span", {}, `mode ${answer.mode}`)),
    answer.short && h("p", {class: "short"}, answer.short),
    claims(answer, layoutOf(answer), collection),
    quiet ? leftOpen(answer) : lacking(answer),
    answer.evidence.length > 0 && sources(answer, collection),
    quiet && answer.reasoning && fold("why", "How the answer was reached", () => h("p", {class: "text"}, answer.reasoning)),
    answer.on_the_way.length > 0 && fold("way", "Answered on the way", () => onTheWay(answer)),
    answer.records.length > 0 && fold("records", many(answer.records.length, "record"), () => records(answer.records)),
    h("p", {class: "facts small"}, cost(answer)),
    exportMenu(answer.run_id));
}

/** An answer that is still being written: the claims that are whole, each checked against its quotes already. */
export class DraftView {
  constructor(collection) {
    this.collection = collection;
    this.shown = [];
    this.element = h("section", {class: "answer draft", "aria-label": "Answer being written"});
  }

  /** Add what is new, and leave what stands where it is; `computations` are those that claims may name. */
  show(drafts, computations) {
    if (this.shown.some((draft, at) => draft !== drafts[at])) this.shown = [];
    if (!this.shown.length) this.begin(drafts[0]);
    const evidence = [...new Map(drafts.flatMap((draft) => draft.evidence).map((each) => [each.number, each])).values()];
    for (const [at, draft] of drafts.entries()) {
      if (at < this.shown.length) continue;
      const {claim, dropped} = draft;
      this.claims.append(claimView({...claim, dropped}, at, draft.layout, {evidence, computations}, this.collection));
    }
    this.shown = [...drafts];
  }

  begin({layout, short}) {
    this.claims = h(TAGS[layout], {class: "claims"});
    this.element.replaceChildren(...[
      h("p", {class: "facts"}, h("span", {class: "badge is-running"}, "being written"), h("span", {}, "each claim is checked")),
      short && h("p", {class: "short"}, short), this.claims].filter(Boolean));
  }
}

/** How the claims are set: their text tells. */
function layoutOf({answer}) {
  if (answer.startsWith("1. ")) return "numbered_list";
  return answer.startsWith("- ") ? "list" : "prose";
}

function claims(answer, layout, collection) {
  if (!answer.claims.length) return null;
  return h(TAGS[layout], {class: "claims"}, answer.claims.map((claim, at) => claimView(claim, at, layout, answer, collection)));
}

function claimView(claim, at, layout, answer, collection) {
  return h(layout === "prose" ? "span" : "li", {class: "claim"},
    h("span", {class: claim.supported ? "" : "unsupported"}, claim.text), " ", marks(claim, at, answer, collection), " ");
}

function marks(claim, at, answer, collection) {
  if (!claim.supported) {
    const why = claim.dropped?.length ? `Its quote does not stand in the passage: ${claim.dropped.join("; ")}` : "Nothing that was read supports this";
    return h("span", {class: "mark none", title: why}, "unsupported");
  }
  const quotes = claim.evidence.map((number) => {
    const quote = answer.evidence.find((each) => each.number === number);
    return mark(`[${number}]`, at, quote && place(quote), () => openQuote(answer.evidence, number, collection));
  });
  const computed = claim.computations.map((number) =>
    mark(`[C${number}]`, at, "computed", () => openComputation(answer, number, collection)));
  return [...quotes, ...computed];
}

/** `at` is the place of its claim: a mark that had the focus while the answer was written has it afterwards. */
function mark(label, at, title, open) {
  return h("button", {type: "button", class: "mark", title, "data-key": `claim ${at} ${label}`, on: {click: open}}, label);
}

export function place(quote) {
  return [fileName(quote.document), pages(quote.pages)].filter(Boolean).join(", ");
}

function listed(title, items) {
  return items.length > 0 && [h("h3", {}, title), h("ul", {}, items.map((each) => h("li", {}, each)))];
}

/** What an answer that stands does not say all the same. */
function leftOpen(answer) {
  return answer.missing.length > 0 && h("div", {class: "lacking"}, listed("Left open", answer.missing));
}

function lacking(answer) {
  return h("div", {class: "lacking"},
    answer.reasoning && h("p", {class: "text"}, answer.reasoning),
    listed("What was looked for", answer.looked_for),
    answer.found && [h("h3", {}, "What was found"), h("p", {class: "text"}, answer.found)],
    listed("What is missing", answer.missing));
}

function sources(answer, collection) {
  const computations = answer.computations.map((each) => h("li", {},
    h("button", {type: "button", class: "source", on: {click: () => openComputation(answer, each.number, collection)}},
      h("span", {class: "where"}, `[C${each.number}] computed`), h("span", {class: "words"}, each.purpose))));
  const quotes = answer.evidence.map((quote) => h("li", {},
    h("button", {type: "button", class: "source", on: {click: () => openQuote(answer.evidence, quote.number, collection)}},
      h("span", {class: "where"}, `[${quote.number}] ${place(quote)}`), h("span", {class: "words"}, quote.quote))));
  const title = `Evidence: ${many(quotes.length, "quote")}${computations.length ? `, ${many(computations.length, "computation")}` : ""}`;
  return fold("evidence", title, () => h("ul", {class: "sources"}, computations, quotes), quotes.length <= 12);
}

function onTheWay(answer) {
  return h("dl", {}, answer.on_the_way.map((each) => [
    h("dt", {}, each.question), h("dd", {class: each.sufficient ? "" : "unsupported"}, each.answer || "not answered")]));
}

function records(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return table(names, rows.map((row) => names.map((name) => row[name])));
}

function cost(answer) {
  const {coverage, summary, usage} = answer;
  return [
    coverage.chunks_total > 0 && `read ${coverage.chunks_considered} of ${many(coverage.chunks_total, "passage")} in ${coverage.documents_considered} of ${many(coverage.documents_total, "document")}`,
    summary.attempts > 1 && many(summary.attempts, "attempt"),
    many(usage.model_calls, "model call"), tokens(usage), seconds(usage.seconds),
    costOf(usage),
  ].filter(Boolean).map((each) => h("span", {}, each));
}
