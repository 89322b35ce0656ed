/* The head of a run: its question, what it was forked from, and its status and costs. */

import * as api from "../../lib/api.js";
import {badge, h} from "../../lib/dom.js";
import {costOf, formatTime, plural, seconds, tokens} from "../../lib/format.js";
import {phrase, t} from "../../lib/i18n.js";
import {inWords} from "../filters.js";
import {foundButton} from "./found.js";

/** The question and the status of its run. */
export function head(live) {
  const {model} = live;
  const changed = model.started?.request.fork && changesOf(model.started.request.fork);
  const took = model.began && (model.ended ?? Date.now()) - model.began;
  return [
    h("div", {class: "headline"}, h("h1", {class: "asked"}, live.question),
      live.over ? h("a", {class: "again", href: `#/again/${encodeURIComponent(live.id)}`, "data-key": "again"}, t("Ask again …")) : stopButton(live)),
    model.completed && model.completed.question !== live.question && h("p", {class: "note"}, `${t("Understood from the conversation as:")} `, completion(model.completed)),
    live.summary?.forked_from && h("p", {class: "note"}, phrase("Forked from {run} at the step {step}", {run: h("a", {href: `#/runs/${encodeURIComponent(live.summary.forked_from)}`}, live.summary.forked_from), step: live.summary.forked_at}),
      `${changed ? `: ${changed}` : ""}. `,
      live.over && h("a", {href: `#/compare/${encodeURIComponent(live.summary.forked_from)}/${encodeURIComponent(live.id)}`}, t("Compare both"))),
    h("p", {class: "facts"}, badge(live.status),
      live.collection && h("span", {}, live.collection),
      model.started?.request.filter && h("span", {}, inWords(model.started.request.filter)),
      live.summary && [h("span", {}, live.summary.model), h("span", {}, formatTime(live.summary.started_at))],
      took && h("span", {}, seconds(took / 1000)),
      model.usage.model_calls > 0 && [h("span", {}, plural(model.usage.model_calls, "model call")), h("span", {}, tokens(model.usage)), costOf(model.usage) && h("span", {}, costOf(model.usage))],
      foundButton(live)),
  ];
}

function stopButton(live) {
  return h("button", {type: "button", class: "quiet stop", "data-key": "stop", on: {click: async ({currentTarget}) => {
    currentTarget.disabled = true;
    try {
      await api.cancel(live.id);
    } catch (error) {
      live.failed(error);
    }
  }}}, t("Cancel"));
}

/** The completed question, with the words marked that the person did not write. */
function completion({question, added = []}) {
  const words = new Set(added);
  return h("q", {}, question.split(/([\p{L}\p{N}]+)/u).map((part) => words.has(part) ? h("mark", {class: "added", title: t("From the conversation")}, part) : part));
}

/** The kinds of changes of a fork, such as "another instruction, another plan". */
function changesOf(fork) {
  const inputs = Object.keys(fork.inputs ?? {});
  return [
    fork.model && t("model {model}", {model: fork.model}),
    typeof fork.instruction === "string" && t("another instruction"),
    inputs.length > 0 && t("other inputs ({inputs})", {inputs: inputs.join(", ")}),
    ...Object.keys(fork.prompts ?? {}).map((agent) => t("another prompt of {agent}", {agent})),
    fork.evidence && (fork.evidence.length > 0 ? t("only evidence {numbers}", {numbers: fork.evidence.join(", ")}) : t("no evidence")),
    fork.plan && t("another plan"),
  ].filter(Boolean).join(", ");
}
