/* Two runs side by side, with their answers and figures, the first difference, and items that only one of them has. */

import * as api from "../lib/api.js";
import {badge, h} from "../lib/dom.js";
import {costOf, pages, plural, seconds, tokens} from "../lib/format.js";
import {t} from "../lib/i18n.js";
import {showLoaded} from "../parts/loaded.js";
import {differenceView} from "../parts/run/difference.js";

/** Compare the run `first` with the run `second`. */
export function showRunComparison(container, first, second) {
  return showLoaded(container, t("Comparison"), () => api.compareRuns(first, second), view);
}

function view(compared) {
  const {first, second, difference} = compared;
  return [
    h("h1", {}, t("Comparison")),
    h("div", {class: "two-runs"}, runView(first, t("First run")), runView(second, t("Second run"))),
    h("section", {"aria-label": t("First difference")}, h("h2", {}, t("First difference")),
      difference ? differenceView(difference, side(t("First run"), first.run), side(t("Second run"), second.run)) : h("p", {}, t("All events are the same, apart from times."))),
    plans(compared),
    items(t("Queries"), compared.queries, (each) => each),
    items(t("Passages"), compared.passages, (each) => placed(each.name, each, each.excerpt)),
    items(t("Evidence"), compared.evidence, (each) => placed(each.document, each, each.quote)),
    claims(compared.claims),
  ];
}

const address = (run) => `#/runs/${encodeURIComponent(run.run_id)}`;

function runView({run, answer, usage}, name) {
  return h("section", {class: "card", "aria-label": name},
    h("h2", {}, h("a", {href: address(run)}, run.run_id)),
    h("p", {class: "facts"}, badge(run.status), h("span", {}, run.model), h("span", {}, seconds(usage.seconds)),
      h("span", {}, plural(usage.model_calls, "model call")), h("span", {}, tokens(usage)), costOf(usage) && h("span", {}, costOf(usage))),
    run.forked_from && h("p", {class: "note"}, t("Forked from {forkedFrom} at {forkedAt}.", {forkedFrom: run.forked_from, forkedAt: run.forked_at})),
    h("p", {class: "note"}, run.question),
    h("p", {class: "text"}, answer));
}

function side(name, run) {
  return {name, href: (step) => `${address(run)}/steps/${encodeURIComponent(step)}`};
}

/** Both plans with their revisions. Steps that the other run lacks are marked. */
function plans({first, second, same_plan: same}) {
  const known = (run) => new Set(run.plans.flatMap((plan) => plan.steps.map((step) => JSON.stringify(step))));
  const steps = (run, others) => h("div", {class: "card"}, run.plans.map((plan) =>
    h("ol", {}, plan.steps.map((step) => h("li", {}, h("strong", {}, step.id), ` ${step.agents.join(", ")} `,
      !others.has(JSON.stringify(step)) && h("mark", {}, t("differs")), " ", h("span", {class: "note"}, step.instruction))))));
  return h("section", {"aria-label": t("Plans")}, h("h2", {}, same ? t("Plans: the same") : t("Plans")),
    !same && h("div", {class: "two-runs"}, steps(first, known(second)), steps(second, known(first))));
}

function items(name, {both, lost, won}, show) {
  const list = (label, found) => h("div", {class: "card"}, h("p", {class: "note"}, `${label}: ${found.length}`),
    found.length > 0 && h("ul", {}, found.map((each) => h("li", {}, show(each)))));
  return h("section", {"aria-label": name}, h("h2", {}, t("{name}: {count} in both", {name, count: both.length})),
    lost.length + won.length > 0 && h("div", {class: "two-runs"}, list(t("Only in the first run"), lost), list(t("Only in the second run"), won)));
}

function claims(compared) {
  const cell = (text) => h("td", {}, text ?? h("span", {class: "note"}, t("no such claim")));
  return h("section", {"aria-label": t("Claims")}, h("h2", {}, t("Claims: {same} of {count} the same", {same: compared.filter((each) => each.same_text).length, count: compared.length})),
    compared.length > 0 && h("div", {class: "wide"}, h("table", {},
      h("thead", {}, h("tr", {}, [t("First run"), t("Second run")].map((name) => h("th", {scope: "col"}, name)))),
      h("tbody", {}, compared.map((each) => h("tr", {}, cell(each.first), cell(each.second)))))));
}

function placed(name, source, words) {
  return [h("strong", {}, [name, pages(source.pages, source.printed_pages)].filter(Boolean).join(" ")), " ", h("span", {class: "text"}, words)];
}
