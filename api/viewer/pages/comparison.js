/* Comparison of two evaluations of the same questions: differences with intervals, and changed answers. */

import * as api from "../lib/api.js";
import {h} from "../lib/dom.js";
import {tryAction} from "../parts/forms.js";
import {bounds, difference, figureHead, figureName, formatValue, inOrder, isShare} from "../parts/intervals.js";
import {showLoaded} from "../parts/loaded.js";
import {accepted, answerTo, runLink, verdict, verdictBadge} from "../parts/questions.js";
import {saveFile} from "../lib/save-file.js";
import {plural} from "../lib/format.js";
import {n, t, term} from "../lib/i18n.js";

const SIGNIFICANT = 0.05;

/** Compare the evaluation `id` with the baseline `against`. */
export function showComparison(container, id, against) {
  const request = () => Promise.all([api.comparison(against, id), api.evaluation(against), api.evaluation(id)]);
  return showLoaded(container, t("Comparison"), request, compared);
}

function compared([comparison, first, second]) {
  const [before, after] = [first, second].map(({result}) => result.evaluation);
  const errorBox = h("div", {});
  const report = () => tryAction(errorBox, async () => saveFile(await api.evaluationReport([before.id, after.id], "html")));
  return [
    h("h1", {}, t("{after} against {before}", {after: after.configuration.label, before: before.configuration.label})),
    h("p", {class: "facts"}, h("span", {}, after.set_name), h("span", {}, after.collection), link(after), link(before),
      comparison.left_out > 0 && h("span", {}, n(comparison.left_out, "{count} question left out: only one evaluation has finished them", "{count} questions left out: only one evaluation has finished them")),
      h("button", {type: "button", class: "quiet", on: {click: report}}, t("Save a report"))),
    errorBox,
    differences(comparison, {...first.meanings, ...second.meanings}),
    changes(first.result, second.result),
  ];
}

function link({id, configuration}) {
  return h("a", {href: `#/evaluations/${encodeURIComponent(id)}`}, configuration.label === id ? id : `${configuration.label} (${id})`);
}

function differences({figures, needed}, meanings) {
  const names = inOrder(figures, meanings);
  const limits = names.filter((name) => isShare(meanings[name])).flatMap((name) => [figures[name].difference.low, figures[name].difference.high]);
  const widest = Math.max(0.1, ...limits.map(Math.abs));
  return h("section", {"aria-label": t("Differences")}, h("h2", {}, t("Differences")), h("div", {class: "wide"}, h("table", {class: "figures"},
    figureHead(t("Figure"), t("Difference"), t("95 % interval"), "p", t("Up / down / same"), t("Needed")),
    h("tbody", {}, names.map((name) => {
      const {difference: found, p_value: p, better, worse, equal} = figures[name];
      const meaning = meanings[name];
      return h("tr", {},
        h("th", {scope: "row"}, figureName(name, meaning)),
        h("td", {class: "number"}, formatValue(found.mean, meaning, true)),
        h("td", {class: "drawn"}, isShare(meaning) && difference(found, widest, meaning, p < SIGNIFICANT), h("span", {class: "note"}, bounds(found, meaning, true))),
        h("td", {class: "number"}, p < SIGNIFICANT ? h("strong", {}, p.toPrecision(2)) : p.toPrecision(2)),
        h("td", {class: "number"}, `${better.length} / ${worse.length} / ${equal}`),
        h("td", {class: "number"}, needed[name] ? plural(needed[name], "question") : ""));
    })))),
  h("p", {class: "note"}, t("p: paired sign-flip permutation test. Values below 0.05 are bold; the difference is then green if better and red if worse. Needed: number of questions to detect a difference of this size.")));
}

/** Questions with different verdicts. */
function changes(first, second) {
  const [ours, theirs] = [first, second].map(({rows}) => new Map(rows.map((row) => [row.question_id, row])));
  const changed = first.questions.filter(({id}) => ours.get(id)?.status && theirs.get(id)?.status && verdict(ours.get(id)) !== verdict(theirs.get(id)));
  const [before, after] = [first, second].map(({evaluation}) => evaluation.configuration.label);
  return h("section", {"aria-label": t("Changed questions")}, h("h2", {}, n(changed.length, "{count} question changed", "{count} questions changed")),
    changed.length > 0 && h("div", {class: "wide"}, h("table", {class: "questions"},
      h("thead", {}, h("tr", {}, [t("Question"), before, after, t("Accepted")].map((name) => h("th", {scope: "col"}, name)))),
      h("tbody", {}, changed.map((question) => h("tr", {},
        h("td", {}, h("span", {class: "text"}, question.question), h("span", {class: "note"}, [question.id, ...question.tags].join(" · "))),
        cell(before, ours.get(question.id)), cell(after, theirs.get(question.id)),
        h("td", {"data-label": t("Accepted")}, accepted(question))))))));
}

function cell(label, row) {
  return h("td", {"data-label": label}, verdictBadge(row), " ", answerTo(row), h("span", {class: "note"}, row.place !== "right" && term(row.place ?? ""), " ", runLink(row)));
}
