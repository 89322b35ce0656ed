/* An answer with its claims; each mark opens the evidence of its claim. */

import * as api from "../../lib/api.js";
import {loadEvidence} from "./contexts.js";
import {fold, h} from "../../lib/dom.js";
import {choices} from "./choices.js";
import {layoutOf} from "./copy.js";
import {searchedInWords} from "../filters.js";
import {openComputation, openQuote} from "./evidence.js";
import {exportMenu} from "./exports.js";
import {ratingView} from "./rating.js";
import {vote} from "../run/step.js";
import {choose} from "../thread.js";
import {table} from "../tables.js";
import {GIVEN, isGiven} from "./given.js";
import {executionSummary} from "./summary.js";
import {quoteNodes} from "./text-view.js";
import {decimal, firstSentence, placeIn, plural, remark, sourceName} from "../../lib/format.js";
import {n, said, t, term} from "../../lib/i18n.js";

const MOST_SHOWN = 600; // characters of a reason, which end with what to do, that are not folded
const TAGS = {prose: "p", list: "ul", numbered_list: "ol"};

/** The answer of a finished run with any status. `base` is the address of its page. An open quote appends its number. */
export function answerView(live, base) {
  const {answer, collection} = live;
  const asked = answer.clarification;
  const complete = ["answered", "partial"].includes(answer.status);
  if (answer.evidence.length > 0) loadEvidence(answer.run_id).catch(() => {}); // opening a quote repeats it and shows the error
  return h("section", {class: "answer", "aria-label": t("Answer")},
    h("p", {class: "facts"},
      (answer.confidence > 0 || answer.basis?.startsWith("Imported")) && h("span", {class: /^(Weak|Imported)/.test(answer.basis) ? "weak" : ""}, said(answer.basis ?? "") || t("confidence {confidence}", {confidence: decimal(answer.confidence, 2)})),
      answer.mode && h("span", {}, t("mode {mode}", {mode: term(answer.mode)}))),
    answer.short && h("p", {class: "short"}, answer.short),
    answer.nearest && h("p", {class: "nearest"}, t("Closest: {answer}", {answer: answer.nearest.answer})),
    asked ? choices(asked, (candidate) => choose(live, candidate), (at) => opener(answer, answer.claims[at].evidence[0], collection, base)())
      : claims(answer, layoutOf(answer), collection, base),
    answer.claims.some((claim) => claim.stands && !claim.supported) && claimHint(live),
    answer.parts?.length > 0 && h("div", {class: "lacking"}, listed(partsHeading(answer), answer.parts.map(({part, verdict}) => `${part}: ${term(verdict)}`))),
    !asked && (complete && answer.claims.length > 0 ? leftOpen(answer) : gaps(answer)),
    answer.contradictions?.length > 0 && h("section", {"aria-label": t("Other values")}, h("h3", {}, t("Other values in what was read")), h("ul", {}, answer.contradictions.map((sides) => h("li", {}, sides.join(` – ${t("but:")} `))))),
    !asked && answer.evidence.length > 0 && sources(answer, collection, base),
    answer.claims.some((claim) => claim.checked) && fold("checks", t("Checks of the claims"), () => h("ul", {}, answer.claims.map((claim) => h("li", {}, `${said(claim.checked)} — ${claim.text}`)))),
    complete && answer.reasoning && fold("why", t("Reasoning"), () => [
      answer.reasoning.split("\n").map((line) => h("p", {class: "text"}, line)),
      answer.checks && h("p", {class: "text"}, h("strong", {}, `${t("Checks:")} `), answer.checks)]),
    answer.votes.length > 0 && fold("votes", t("Vote"), () => answer.votes.map(vote)),
    answer.on_the_way.length > 0 && fold("way", t("Intermediate questions"), () => intermediate(answer)),
    answer.records.length > 0 && fold("records", plural(answer.records.length, "record"), () => records(answer.records)),
    executionSummary(answer),
    (complete || answer.status === "insufficient") && ratingView(answer.run_id),
    answer.status !== "failed" && exportMenu(answer, collection));
}

/** Why claims were not checked, and what to do, if the run had the model that the service uses now. */
function claimHint({summary}) {
  const note = h("p", {class: "note"});
  api.modelState().then(({model, claim_hint: hint}) => { note.textContent = model === summary.model ? said(hint) : ""; }, () => {}); // the header shows the error
  return note;
}

/** An answer that is still being written: its finished claims, each already verified against its quotes. */
export class DraftView {
  constructor(collection) {
    this.collection = collection;
    this.shown = [];
    this.element = h("section", {class: "answer draft", "aria-label": t("Answer being written")});
  }

  /** Add new claims and leave the others in place. `computations`: those that claims may refer to. */
  show(drafts, computations) {
    if (this.shown.some((draft, at) => draft !== drafts[at])) this.shown = [];
    if (!this.shown.length) this.reset(drafts[0]);
    const evidence = [...new Map(drafts.flatMap((draft) => draft.evidence).map((each) => [each.number, each])).values()];
    for (const [at, draft] of drafts.entries()) {
      if (at < this.shown.length) continue;
      const {claim, dropped} = draft;
      this.claims.append(claimView({...claim, dropped}, at, draft.layout, {evidence, computations}, this.collection));
    }
    this.shown = [...drafts];
  }

  reset({layout, short}) {
    this.claims = h(TAGS[layout], {class: "claims"});
    this.element.replaceChildren(...[
      h("p", {class: "facts"}, h("span", {class: "badge is-running"}, t("being written")), h("span", {}, t("each claim is verified"))),
      short && h("p", {class: "short"}, short), this.claims].filter(Boolean));
  }
}

function claims(answer, layout, collection, base) {
  const views = answer.claims.map((claim, at) => claimView(claim, at, layout, answer, collection, base));
  const body = (own) => own.length > 0 && h(TAGS[layout], {class: "claims"}, own);
  if (!answer.sections?.length) return body(views);
  return answer.sections.map((section) => h("section", {"aria-label": section.title},
    h("h3", {}, section.title),
    body(views.splice(0, section.claims)),
    section.notes.map((note) => h("p", {class: "text"}, note)),
    section.run && h("p", {class: "facts"}, h("a", {href: `#/runs/${encodeURIComponent(section.run)}`}, t("How this section was researched")))));
}

function claimView(claim, at, layout, answer, collection, base) {
  return h(layout === "prose" ? "span" : "li", {class: "claim"},
    h("span", {class: remark(claim) ? "unsupported" : "", title: said(claim.checked ?? "") || null}, claim.text), " ", marks(claim, at, answer, collection, base), " ");
}

/** Without `base`, as in a draft, a quote has no address and opens in place. */
function opener(answer, number, collection, base) {
  if (base) return () => { location.hash = `${base}/${number}`; };
  return () => openQuote(answer.evidence, number, collection, {runId: answer.run_id});
}

function marks(claim, at, answer, collection, base) {
  const doubt = remark(claim);
  const why = claim.dropped?.length ? t("Sentence not found: {sentences}", {sentences: claim.dropped.join("; ")}) : said(claim.checked ?? "") || t("No evidence supports this claim");
  const warning = doubt && h("span", {class: "mark none", title: why}, doubt);
  if (!(claim.stands ?? claim.supported)) return warning;
  const quotes = claim.evidence.map((number) => {
    const quote = answer.evidence.find((each) => each.number === number);
    return mark(`[${number}]`, at, quote && sourceOf(quote), opener(answer, number, collection, base));
  });
  const computed = claim.computations.map((number) =>
    mark(`[C${number}]`, at, t("computed"), () => openComputation(answer, number, collection)));
  const unverified = claim.pictured && h("span", {class: "mark none", title: t("A model read the evidence in the picture of a page, so it cannot be verified.")}, t("from a picture"));
  return [...quotes, ...computed, unverified, warning].filter(Boolean);
}

/** `at` is the index of the claim. It is part of the key, so that a focused mark keeps the focus in the final answer. */
function mark(label, at, title, open) {
  return h("button", {type: "button", class: "mark", title, "data-key": `claim ${at} ${label}`, on: {click: open}}, label);
}

function sourceOf(quote) {
  return [sourceName(quote), placeIn(quote), quote.dated, isGiven(quote) && GIVEN, quote.picture && t("read from its picture, not verified")].filter(Boolean).join(", ");
}

function listed(title, items) {
  return items.length > 0 && [h("h3", {}, title), h("ul", {}, items.map((each) => h("li", {}, each)))];
}

function partsHeading({parts}) {
  return n(parts.length, "{part} of {count} part answered", "{part} of {count} parts answered", {part: parts.filter(({verdict}) => verdict === "answered").length});
}

/** What a complete answer leaves open. */
function leftOpen(answer) {
  return answer.missing.length > 0 && h("div", {class: "lacking"}, listed(t("Left open"), answer.missing));
}

function gaps(answer) {
  return h("div", {class: "lacking"},
    answer.status === "failed" ? reasonOf(answer.reasoning) : answer.reasoning && h("p", {class: "text"}, answer.reasoning),
    answer.searched && h("p", {class: "text"}, t("Searched: {documents}. The other documents were left out.", {documents: searchedInWords(answer.searched)})),
    listed(t("Looked for"), answer.looked_for),
    answer.found && [h("h3", {}, t("Found")), h("p", {class: "text"}, answer.found)],
    listed(t("Missing"), answer.missing));
}

/** Why a run failed, and what to do about it, which the sentences after the first say. */
function reasonOf(reason) {
  const what = firstSentence(reason);
  const rest = reason.slice(what.length).trim();
  return [h("p", {class: "text fault"}, what), rest && (rest.length > MOST_SHOWN ? fold("failure", t("Details"), () => h("p", {class: "text"}, rest)) : h("p", {class: "text"}, rest))];
}

function sources(answer, collection, base) {
  const computations = answer.computations.map((each) => h("li", {},
    h("button", {type: "button", class: "source", on: {click: () => openComputation(answer, each.number, collection)}},
      h("span", {class: "where"}, t("[C{number}] computed", {number: each.number})), h("span", {class: "words"}, each.purpose))));
  const quotes = answer.evidence.map((quote) => h("li", {},
    h("button", {type: "button", class: "source", on: {click: opener(answer, quote.number, collection, base)}},
      h("span", {class: "where"}, `[${quote.number}] ${sourceOf(quote)}`), h("span", {class: "words"}, quoteNodes(quote.quote)))));
  const title = t("Evidence: {quotes}", {quotes: [plural(quotes.length, "quote"), computations.length > 0 && plural(computations.length, "computation")].filter(Boolean).join(", ")});
  return h("details", {"data-key": "evidence", open: quotes.length <= 12}, h("summary", {}, title), // printing opens it
    h("div", {class: "fold-body"}, h("ul", {class: "sources"}, computations, quotes)));
}

function intermediate(answer) {
  return h("dl", {}, answer.on_the_way.map((each) => [
    h("dt", {}, each.question), h("dd", {class: each.sufficient ? "" : "unsupported"}, each.answer || t("not answered"))]));
}

function records(rows) {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  return table(names, rows.map((row) => names.map((name) => row[name])));
}
