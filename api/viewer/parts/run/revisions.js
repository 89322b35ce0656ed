/* The plans of all attempts side by side: what each kept, changed, dropped and added, what failed, and why it was revised. */

import {badge, h} from "../../lib/dom.js";
import {statusOf} from "../../lib/model.js";
import {firstSentence, shorten} from "../../lib/format.js";
import {t, term} from "../../lib/i18n.js";

const IGNORED = ["id", "why"]; // fields without effect on execution
const SIGNS = {added: "+", changed: "~", kept: "=", gone: "−"};

export function revisions(model, over, href) {
  return h("section", {class: "revisions"},
    h("h2", {}, t("Attempts side by side")),
    h("div", {class: "wide"}, h("ol", {class: "columns"}, model.attempts.map((attempt, at) =>
      column(attempt, model.attempts[at - 1], over || at < model.attempts.length - 1, href)))));
}

function column(attempt, before, over, href) {
  const old = new Map((before?.plan?.steps ?? []).map((step) => [step.id, step]));
  const dropped = [...old.values()].filter((step) => !attempt.steps.has(step.id));
  return h("li", {},
    h("h3", {}, t("Attempt {number}", {number: attempt.number})),
    h("p", {class: "text"}, attempt.diagnosis || attempt.plan?.goal),
    h("ul", {class: "changes"},
      [...attempt.steps.values()].map((step) => line(step, before && old.get(step.id), Boolean(before), over, href)),
      dropped.map((step) => h("li", {class: "is-gone"}, h("span", {class: "sign"}, `${SIGNS.gone} `), h("s", {}, step.id), h("span", {class: "note"}, ` ${t("dropped")}`)))),
    attempt.outcome?.failed.map((each) => h("p", {class: "fault"}, t("{step} failed: {error}", {step: each.step, error: firstSentence(each.error)}))),
    attempt.outcome?.missing.length > 0 && h("p", {class: "note"}, t("Missing: {missing}", {missing: attempt.outcome.missing.join("; ")})),
    attempt.outcome?.verdict && h("p", {class: "note"}, attempt.outcome.verdict));
}

function line(step, old, revised, over, href) {
  const changes = old && step.plan ? differences(old, step.plan) : [];
  const kind = !revised ? "" : !old ? "added" : changes.length ? "changed" : "kept";
  return h("li", {class: kind && `is-${kind}`},
    kind && h("span", {class: "sign", title: term(kind)}, `${SIGNS[kind]} `),
    h("a", {href: href(step), "data-key": `revised ${step.key}`}, step.id), " ",
    h("span", {class: "note"}, (step.plan?.agents ?? []).join(", ")), " ", badge(statusOf(step, over)),
    changes.map(([name, was, is]) => h("p", {class: "note change"}, `${name.replaceAll("_", " ")}: `, h("del", {}, was), " → ", h("ins", {}, is))));
}

/** The fields of a step that differ: [name, old value, new value]. */
function differences(old, step) {
  return Object.keys(step).filter((name) => !IGNORED.includes(name) && JSON.stringify(old[name]) !== JSON.stringify(step[name]))
    .map((name) => [name, format(old[name]), format(step[name])]);
}

function format(it) {
  const text = typeof it === "string" ? it : Array.isArray(it) ? it.join(", ") : JSON.stringify(it);
  return shorten(text || t("nothing"), 160);
}
