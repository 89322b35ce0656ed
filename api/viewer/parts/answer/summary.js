/* What a run did: steps, sources, tools, contradictions and costs. */

import {fold, h} from "../../lib/dom.js";
import {searchedInWords} from "../filters.js";
import {costOf, plural, seconds, tokens} from "../../lib/format.js";

/** The costs in one line, and everything else to unfold. */
export function executionSummary(answer) {
  return [
    h("p", {class: "facts small"}, costs(answer)),
    fold("did", "What the run did", () => h("dl", {class: "fields"}, facts(answer).map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)]))),
  ];
}

function costs({coverage, searched, summary, usage}) {
  return [
    searched && `searched ${searchedInWords(searched)}`,
    coverage.chunks_total > 0 && `read ${coverage.chunks_considered} of ${plural(coverage.chunks_total, "passage")} in ${coverage.documents_considered} of ${plural(coverage.documents_total, "document")}`,
    summary.attempts > 1 && plural(summary.attempts, "attempt"),
    plural(usage.model_calls, "model call"), tokens(usage), seconds(usage.seconds),
    costOf(usage),
  ].filter(Boolean).map((each) => h("span", {}, each));
}

function facts({coverage, summary, usage}) {
  return [
    ["Steps", `${summary.steps_completed} done, ${summary.steps_skipped} skipped, ${summary.steps_failed} failed`],
    ["Plans", summary.attempts > 1 && `${summary.attempts}, as the first did not answer the question`],
    ["Agents", Object.entries(summary.steps).map(([agent, outcomes]) => `${agent} ${outcomesOf(outcomes)}`).join(", ")],
    ["Documents", summary.documents.total > 0 && count(summary.documents)],
    ["Not read", coverage.unread?.join("; ")],
    ["Not read in full", coverage.warnings?.join("; ")],
    ["Pages", summary.pages.total > 0 && count(summary.pages)],
    ["Given passages", summary.given_passages.total > 0 && count(summary.given_passages)],
    ["Web pages", summary.web_pages.read > 0 && count(summary.web_pages)],
    ["Tools", summary.tools_offered > 0 && tools(summary)],
    ["Contradictions", summary.contradictions > 0 && `${plural(summary.contradictions, "pair")} of statements that may contradict each other`],
    ["Model", [plural(usage.model_calls, "call"), tokens(usage), seconds(usage.seconds), costOf(usage)].filter(Boolean).join(", ")],
  ].filter(([, text]) => text);
}

function outcomesOf(outcomes) {
  return Object.entries(outcomes).map(([outcome, times]) => outcome === "completed" ? `× ${times}` : `(${times} ${outcome})`).join(" ");
}

function count({cited, read, total}) {
  return `${read.toLocaleString("en")}${total === null ? "" : ` of ${total.toLocaleString("en")}`} read, ${cited.toLocaleString("en")} cited`;
}

function tools({tools: called, tools_offered: offered}) {
  const used = Object.entries(called).map(([name, {calls, failed}]) => `${name} × ${calls}${failed ? ` (${failed} failed)` : ""}`);
  return `${used.length} of ${offered} used${used.length ? `: ${used.join(", ")}` : ""}`;
}
