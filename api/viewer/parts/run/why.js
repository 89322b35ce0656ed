/* Why this answer: what a run searched, found, read, used and refused, from its events and its answer. */

import {openQuote} from "../answer/evidence.js";
import {quoteNodes} from "../answer/text-view.js";
import {fold, h} from "../../lib/dom.js";
import {pages, plural, remark} from "../../lib/format.js";
import {said, t} from "../../lib/i18n.js";
import {asQuote, foundIn, reason} from "./found.js";

/** The folded view. `live`: a run that has ended. */
export function whyFold(live) {
  return fold("why-answer", t("Why this answer"), () => whyView(live));
}

function whyView({model, answer, collection}) {
  const wrote = model.writes.map((each) => each.wrote);
  const read = new Set(wrote.flatMap((each) => each.read ?? []).map((mark) => mark.split("/")[0]));
  const ranks = new Map((wrote.findLast((each) => each.ranking)?.ranking ?? []).map((id, at) => [id, at + 1]));
  const cited = new Set(answer.claims.flatMap((claim) => claim.evidence));
  const found = [...model.passages.values()].map((each) => ({...each, rank: ranks.get(each.chunk_id),
    numbers: answer.evidence.filter((quote) => cited.has(quote.number) && quote.document_id === each.document_id && isIn(quote, each)).map(({number}) => number)}));
  const quotes = found.map(asQuote);
  const line = (each) => h("li", {}, h("button", {type: "button", class: "source", "data-key": `why ${each.number}`, on: {click: () => openQuote(quotes, each.number, collection, {label: t("Passage")})}},
    h("span", {class: "where"}, [each.rank && t("rank {rank}", {rank: each.rank}), each.name, pages(each.pages, each.printed_pages), each.section.at(-1)].filter(Boolean).join(", "), each.numbers.map((number) => ` [${number}]`)),
    h("span", {class: "words"}, quoteNodes(each.excerpt)), reason(each)));
  const list = (title, those, key) => those.length > 0 && fold(key, `${title}: ${plural(those.length, "passage")}`, () => h("ul", {class: "sources"}, those.toSorted((one, other) => (one.rank ?? Infinity) - (other.rank ?? Infinity) || one.number - other.number).map(line)), key === "why used");
  const unused = found.filter(({numbers}) => !numbers.length);
  return [
    h("h2", {}, t("Searched")), searched(model),
    h("h2", {}, t("Found")),
    found.length ? [
      list(t("Used in the answer"), found.filter(({numbers}) => numbers.length), "why used"),
      list(read.size ? t("Read, but not used") : t("Not used"), unused.filter((each) => !read.size || read.has(each.chunk_id)), "why read"),
      list(t("Not read"), unused.filter((each) => read.size && !read.has(each.chunk_id)), "why found")] : h("p", {class: "note"}, t("No passage was found.")),
    h("h2", {}, t("Refused")), refused(model, answer),
  ];
}

/** Whether a quote is in a passage, of which the run keeps the beginning: by the id, or by the place if the answer has none. */
function isIn(quote, passage) {
  return quote.chunk_id ? quote.chunk_id === passage.chunk_id : quote.start >= passage.start && quote.start < passage.end;
}

function searched(model) {
  const searches = [model.panel, ...model.steps].flatMap((step) => step.searches);
  if (!searches.length) return h("p", {class: "note"}, t("Nothing."));
  return h("ul", {class: "values"}, searches.map((each) => h("li", {}, h("q", {}, each.queries.join("; ")), " ",
    h("span", {class: "note"}, foundIn(each)))));
}

/** Claims without support, quotes that are not in their passages, computations that failed, and plans that were rejected. */
function refused(model, answer) {
  const steps = [model.panel, ...model.steps];
  const items = [
    ...answer.claims.filter((claim) => claim.verdict === "contradicted" || !(claim.stands ?? claim.supported)).map((claim) => [claim.text, said(claim.checked ?? "") || remark(claim)]),
    ...steps.flatMap((step) => step.rejected).filter((each) => each.final).map((each) => [each.quote, each.reason]),
    ...steps.flatMap((step) => step.computed).filter((each) => each.error).map((each) => [each.purpose, each.error]),
    ...model.panel.faults.map((fault) => [t("A plan"), fault]),
  ];
  if (!items.length) return h("p", {class: "note"}, t("Nothing."));
  return h("ul", {class: "values"}, items.map(([what, why]) => h("li", {class: "quoted rejected"}, h("span", {class: "words"}, what), h("span", {class: "note"}, why))));
}
