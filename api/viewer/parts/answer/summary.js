/* What a run did: steps, sources, tools, contradictions and costs. */

import {fold, h} from "../../lib/dom.js";
import {searchedInWords} from "../filters.js";
import {costOf, plural, seconds, tokens} from "../../lib/format.js";
import {n, number, t, term} from "../../lib/i18n.js";

/** The costs in one line, and everything else to unfold. */
export function executionSummary(answer) {
  return [
    h("p", {class: "facts small"}, costs(answer)),
    fold("did", t("What the run did"), () => h("dl", {class: "fields"}, facts(answer).map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]))),
  ];
}

function costs({coverage, searched, summary, usage}) {
  return [
    searched && t("searched {documents}", {documents: searchedInWords(searched)}),
    coverage.chunks_total > 0 && t("read {passages} in {documents}", {
      passages: n(coverage.chunks_total, "{part} of {count} passage", "{part} of {count} passages", {part: coverage.chunks_considered}),
      documents: n(coverage.documents_total, "{part} of {count} document", "{part} of {count} documents", {part: coverage.documents_considered})}),
    summary.attempts > 1 && plural(summary.attempts, "attempt"),
    plural(usage.model_calls, "model call"), tokens(usage), seconds(usage.seconds),
    costOf(usage),
  ].filter(Boolean).map((each) => h("span", {}, each));
}

function facts({coverage, summary, usage}) {
  return [
    [t("Steps"), t("{done} done, {skipped} skipped, {failed} failed", {done: summary.steps_completed, skipped: summary.steps_skipped, failed: summary.steps_failed})],
    [t("Plans"), summary.attempts > 1 && t("{count}, as the first did not answer the question", {count: summary.attempts})],
    [t("Agents"), Object.entries(summary.steps).map(([agent, outcomes]) => `${agent} ${outcomesOf(outcomes)}`).join(", ")],
    [t("Documents"), summary.documents.total > 0 && count(summary.documents)],
    [t("Not read"), coverage.unread?.join("; ")],
    [t("Not read in full"), coverage.warnings?.join("; ")],
    [t("Pages"), summary.pages.total > 0 && count(summary.pages)],
    [t("Given passages"), summary.given_passages.total > 0 && count(summary.given_passages)],
    [t("Web pages"), summary.web_pages.read > 0 && count(summary.web_pages)],
    [t("Tools"), summary.tools_offered > 0 && tools(summary)],
    [t("Contradictions"), summary.contradictions > 0 && n(summary.contradictions, "{count} pair of statements that may contradict each other", "{count} pairs of statements that may contradict each other")],
    [t("Model"), [plural(usage.model_calls, "call"), tokens(usage), seconds(usage.seconds), costOf(usage)].filter(Boolean).join(", ")],
  ].filter(([, text]) => text);
}

function outcomesOf(outcomes) {
  return Object.entries(outcomes).map(([outcome, times]) => outcome === "completed" ? `× ${times}` : `(${times} ${term(outcome)})`).join(" ");
}

function count({cited, read, total}) {
  const of = {read: number(read), total: number(total ?? 0), cited: number(cited)};
  return total === null ? t("{read} read, {cited} cited", of) : t("{read} of {total} read, {cited} cited", of);
}

function tools({tools: called, tools_offered: offered}) {
  const used = Object.entries(called).map(([name, {calls, failed}]) => `${name} × ${calls}${failed ? ` (${t("{failed} failed", {failed})})` : ""}`);
  return `${t("{part} of {count} used", {part: used.length, count: offered})}${used.length ? `: ${used.join(", ")}` : ""}`;
}
