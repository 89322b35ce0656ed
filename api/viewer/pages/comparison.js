/* Two evaluations of the same questions, side by side: how sure a difference is, and which answers changed. */

import * as api from "../lib/api.js";
import {failure, h, loading} from "../lib/dom.js";
import {Trouble} from "../lib/errors.js";
import {attempt} from "../parts/forms.js";
import {bounds, difference, figureHead, figureName, inOrder, isShare, shown} from "../parts/intervals.js";
import {accepted, runLink, saidTo, verdict, verdictBadge} from "../parts/questions.js";
import {give} from "../lib/save-file.js";
import {many} from "../lib/format.js";

const SIGNIFICANT = 0.05;

/** `id` is what is compared, `against` what it is compared with. */
export function showComparison(place, id, against) {
  const body = h("div", {}, loading());
  let closed = false;
  place.append(body);

  async function load() {
    try {
      const [comparison, first, second] = await Promise.all([api.comparison(against, id), api.evaluation(against), api.evaluation(id)]);
      if (!closed) body.replaceChildren(...compared(comparison, first, second));
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  api.connection.addEventListener("back", load);
  load();
  return {close() {
    closed = true;
    api.connection.removeEventListener("back", load);
  }};
}

function compared(comparison, first, second) {
  const [before, after] = [first, second].map(({result}) => result.evaluation);
  const trouble = h("div", {});
  const report = () => attempt(trouble, async () => give(await api.evaluationReport([before.id, after.id], "html")));
  return [
    h("h1", {}, `${after.configuration.label} against ${before.configuration.label}`),
    h("p", {class: "facts"}, h("span", {}, after.set_name), h("span", {}, after.collection), link(after), link(before),
      comparison.left_out > 0 && h("span", {}, `${many(comparison.left_out, "question")} left out: only one has finished them`),
      h("button", {type: "button", class: "quiet", on: {click: report}}, "Save a report")),
    trouble,
    differences(comparison, {...first.meanings, ...second.meanings}),
    changes(first.result, second.result),
  ];
}

function link({id, configuration}) {
  return h("a", {href: `#/evaluations/${encodeURIComponent(id)}`}, configuration.label === id ? id : `${configuration.label} (${id})`);
}

function differences({figures, needed}, meanings) {
  const names = inOrder(figures, meanings);
  const reaches = names.filter((name) => isShare(meanings[name])).flatMap((name) => [figures[name].difference.low, figures[name].difference.high]);
  const widest = Math.max(0.1, ...reaches.map(Math.abs));
  return h("section", {"aria-label": "Differences"}, h("h2", {}, "Differences"), h("div", {class: "wide"}, h("table", {class: "figures"},
    figureHead("Figure", "Difference", "95 % interval", "p", "Up / down / same", "To show it"),
    h("tbody", {}, names.map((name) => {
      const {difference: found, p_value: p, better, worse, equal} = figures[name];
      const meaning = meanings[name];
      return h("tr", {},
        h("th", {scope: "row"}, figureName(name, meaning)),
        h("td", {class: "number"}, shown(found.mean, meaning, true)),
        h("td", {class: "drawn"}, isShare(meaning) && difference(found, widest, meaning, p < SIGNIFICANT), h("span", {class: "note"}, bounds(found, meaning, true))),
        h("td", {class: "number"}, p < SIGNIFICANT ? h("strong", {}, p.toPrecision(2)) : p.toPrecision(2)),
        h("td", {class: "number"}, `${better.length} / ${worse.length} / ${equal}`),
        h("td", {class: "number"}, needed[name] ? many(needed[name], "question") : ""));
    })))),
  h("p", {class: "note"}, "p is of a paired sign-flip permutation test. Where it is below 0.05 it is set in bold, and the difference is green if it is for the better, and red if not. To show it: how many questions would show a difference as large as this one."));
}

/** The questions whose verdicts differ. */
function changes(first, second) {
  const [ours, theirs] = [first, second].map(({rows}) => new Map(rows.map((row) => [row.question_id, row])));
  const changed = first.questions.filter(({id}) => ours.get(id)?.status && theirs.get(id)?.status && verdict(ours.get(id)) !== verdict(theirs.get(id)));
  const [before, after] = [first, second].map(({evaluation}) => evaluation.configuration.label);
  return h("section", {"aria-label": "What changed"}, h("h2", {}, `${many(changed.length, "question")} changed`),
    changed.length > 0 && h("div", {class: "wide"}, h("table", {class: "questions"},
      h("thead", {}, h("tr", {}, ["Question", before, after, "Accepted"].map((name) => h("th", {scope: "col"}, name)))),
      h("tbody", {}, changed.map((question) => h("tr", {},
        h("td", {}, h("span", {class: "text"}, question.question), h("span", {class: "note"}, [question.id, ...question.tags].join(" · "))),
        cell(before, ours.get(question.id)), cell(after, theirs.get(question.id)),
        h("td", {"data-label": "Accepted"}, accepted(question))))))));
}

function cell(label, row) {
  return h("td", {"data-label": label}, verdictBadge(row), " ", saidTo(row), h("span", {class: "note"}, row.place !== "right" && row.place, " ", runLink(row)));
}
