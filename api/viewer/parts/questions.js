/* The questions of an evaluation with their results. */

import {h} from "../lib/dom.js";
import {n, t, term} from "../lib/i18n.js";

const FIRST = 100; // questions shown at first
const TONES = {right: "done", wrong: "failed"};
const NO_ANSWER = "none";
const UNKNOWN = "wrong, cause unknown";

/** Return "right" or "wrong" or, without a grade, the state of the run. */
export function verdict(row) {
  if (!row?.status) return row ? "running" : "not asked";
  if (!row.place) return row.status;
  return row.place === "right" ? "right" : "wrong";
}

export function verdictBadge(row) {
  const text = verdict(row);
  return h("span", {class: `badge is-${TONES[text] ?? text.split(" ")[0]}`}, term(text));
}

/** Where a wrong answer failed. The evaluation knows it only from gold: the place in the documents with the answer. */
function causeOf(row) {
  if (!row?.place || row.place === "right") return null;
  return h("span", {class: "note"}, row.place === UNKNOWN ? t("Add gold to find out where it failed.") : term(row.place));
}

/** The answer, or the reason why there is none. */
export function answerTo(row) {
  if (!row?.status) return h("span", {class: "note"}, t("no answer yet"));
  return row.said ? h("span", {class: "text"}, row.said) : h("span", {class: "note"}, row.error || t("no answer"));
}

export function accepted(question) {
  if (question.accepted.length) return question.accepted.map((each) => h("div", {}, each));
  return question.answer || h("span", {class: "note"}, question.type === NO_ANSWER ? t("no answer exists") : t("not given"));
}

export function runLink(row, label = t("View run")) {
  return row?.run_id && row.status && h("a", {href: `#/runs/${encodeURIComponent(row.run_id)}`}, label);
}

/** A table of questions; `more` is called with the number of rows to show. */
export function questionTable(questions, count = FIRST, more) {
  return [
    h("div", {class: "wide"}, h("table", {class: "questions"},
      h("thead", {}, h("tr", {}, [t("Question"), t("Verdict"), t("Answer"), t("Accepted")].map((name) => h("th", {scope: "col"}, name)))),
      h("tbody", {}, questions.slice(0, count).map(line)))),
    questions.length > count && h("button", {type: "button", "data-key": "more", on: {click: () => more(count * 4)}}, n(questions.length, "Show more of {count} question", "Show more of {count} questions")),
  ];
}

function line({question, row}) {
  const errors = Object.entries(row?.errors ?? {});
  return h("tr", {},
    h("td", {}, h("span", {class: "text"}, question.question),
      h("span", {class: "note"}, [question.id, ...question.tags].join(" · "), " ", runLink(row))),
    h("td", {}, verdictBadge(row), causeOf(row),
      errors.map(([metric, why]) => h("span", {class: "note"}, `${metric}: ${why}`))),
    h("td", {"data-label": t("Answer")}, answerTo(row)),
    h("td", {"data-label": t("Accepted")}, accepted(question)));
}
