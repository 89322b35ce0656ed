/* The questions of an evaluation with what became of them. */

import {h} from "../lib/dom.js";
import {many} from "../lib/format.js";

const FIRST = 100; // questions that are shown before a person asks for more
const TONES = {right: "done", wrong: "failed"};
const NO_ANSWER = "none";

/** Right, wrong, or where that cannot be told, how far its run is. */
export function verdict(row) {
  if (!row?.status) return row ? "under way" : "not asked";
  if (!row.place) return row.status;
  return row.place === "right" ? "right" : "wrong";
}

export function verdictBadge(row) {
  const told = verdict(row);
  return h("span", {class: `badge is-${TONES[told] ?? told.split(" ")[0]}`}, told);
}

/** What was said to it, or why nothing was. */
export function saidTo(row) {
  if (!row?.status) return h("span", {class: "note"}, "nothing yet");
  return row.said ? h("span", {class: "text"}, row.said) : h("span", {class: "note"}, row.error || "no answer");
}

export function accepted(question) {
  if (question.accepted.length) return question.accepted.map((each) => h("div", {}, each));
  return question.answer || h("span", {class: "note"}, question.type === NO_ANSWER ? "that there is no answer" : "not given");
}

export function runLink(row, label = "Its run") {
  return row?.run_id && row.status && h("a", {href: `#/runs/${encodeURIComponent(row.run_id)}`}, label);
}

/** Questions with their rows; `more` is asked for so many. */
export function questionTable(those, count = FIRST, more) {
  return [
    h("div", {class: "wide"}, h("table", {class: "questions"},
      h("thead", {}, h("tr", {}, ["Question", "Verdict", "Said", "Accepted"].map((name) => h("th", {scope: "col"}, name)))),
      h("tbody", {}, those.slice(0, count).map(line)))),
    those.length > count && h("button", {type: "button", "data-key": "more", on: {click: () => more(count * 4)}}, `Show more of ${many(those.length, "question")}`),
  ];
}

function line({question, row}) {
  const untold = Object.entries(row?.errors ?? {});
  return h("tr", {},
    h("td", {}, h("span", {class: "text"}, question.question),
      h("span", {class: "note"}, [question.id, ...question.tags].join(" · "), " ", runLink(row))),
    h("td", {}, verdictBadge(row), row?.place && row.place !== "right" && h("span", {class: "note"}, row.place),
      untold.map(([metric, why]) => h("span", {class: "note"}, `${metric}: ${why}`))),
    h("td", {"data-label": "Said"}, saidTo(row)),
    h("td", {"data-label": "Accepted"}, accepted(question)));
}
