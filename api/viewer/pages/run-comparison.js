/* Two runs side by side, with their answers and figures, the first difference, and items that only one of them has. */

import * as api from "../lib/api.js";
import {badge, h} from "../lib/dom.js";
import {costOf, pages, plural, seconds, tokens} from "../lib/format.js";
import {showLoaded} from "../parts/loaded.js";
import {differenceView} from "../parts/run/difference.js";

/** Compare the run `first` with the run `second`. */
export function showRunComparison(container, first, second) {
  return showLoaded(container, "Comparison", () => api.compareRuns(first, second), view);
}

function view(compared) {
  const {first, second, difference} = compared;
  return [
    h("h1", {}, "Comparison"),
    h("div", {class: "two-runs"}, runView(first, "First run"), runView(second, "Second run")),
    h("section", {"aria-label": "First difference"}, h("h2", {}, "First difference"),
      difference ? differenceView(difference, side("First run", first.run), side("Second run", second.run)) : h("p", {}, "All events are the same, apart from times.")),
    plans(compared),
    items("Queries", compared.queries, (each) => each),
    items("Passages", compared.passages, (each) => placed(each.name, each, each.excerpt)),
    items("Evidence", compared.evidence, (each) => placed(each.document, each, each.quote)),
    claims(compared.claims),
  ];
}

const address = (run) => `#/runs/${encodeURIComponent(run.run_id)}`;

function runView({run, answer, usage}, name) {
  return h("section", {class: "card", "aria-label": name},
    h("h2", {}, h("a", {href: address(run)}, run.run_id)),
    h("p", {class: "facts"}, badge(run.status), h("span", {}, run.model), h("span", {}, seconds(usage.seconds)),
      h("span", {}, plural(usage.model_calls, "model call")), h("span", {}, tokens(usage)), costOf(usage) && h("span", {}, costOf(usage))),
    run.forked_from && h("p", {class: "note"}, `Forked from ${run.forked_from} at ${run.forked_at}.`),
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
      !others.has(JSON.stringify(step)) && h("mark", {}, "differs"), " ", h("span", {class: "note"}, step.instruction))))));
  return h("section", {"aria-label": "Plans"}, h("h2", {}, same ? "Plans: the same" : "Plans"),
    !same && h("div", {class: "two-runs"}, steps(first, known(second)), steps(second, known(first))));
}

function items(name, {both, lost, won}, show) {
  const list = (label, found) => h("div", {class: "card"}, h("p", {class: "note"}, `${label}: ${found.length}`),
    found.length > 0 && h("ul", {}, found.map((each) => h("li", {}, show(each)))));
  return h("section", {"aria-label": name}, h("h2", {}, `${name}: ${both.length} in both`),
    lost.length + won.length > 0 && h("div", {class: "two-runs"}, list("Only in the first run", lost), list("Only in the second run", won)));
}

function claims(compared) {
  const cell = (text) => h("td", {}, text ?? h("span", {class: "note"}, "no such claim"));
  return h("section", {"aria-label": "Claims"}, h("h2", {}, `Claims: ${compared.filter((each) => each.same_text).length} of ${compared.length} the same`),
    compared.length > 0 && h("div", {class: "wide"}, h("table", {},
      h("thead", {}, h("tr", {}, ["First run", "Second run"].map((name) => h("th", {scope: "col"}, name)))),
      h("tbody", {}, compared.map((each) => h("tr", {}, cell(each.first), cell(each.second)))))));
}

function placed(name, source, words) {
  return [h("strong", {}, [name, pages(source.pages, source.printed_pages)].filter(Boolean).join(" ")), " ", h("span", {class: "text"}, words)];
}
