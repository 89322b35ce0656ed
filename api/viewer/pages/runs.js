/* The list of runs, with filters. */

import * as api from "../lib/api.js";
import {badge, empty, failure, h, loading, replace} from "../lib/dom.js";
import {RequestError, Unreachable} from "../lib/errors.js";
import {decimal, fileSize, formatTime, plural, seconds} from "../lib/format.js";
import {said, t, term} from "../lib/i18n.js";
import {importButton} from "../parts/import-run.js";
import {ratingInWords} from "../parts/answer/rating.js";

const PAGE = 50;
const POLL_MS = 4000;
const DEBOUNCE_MS = 250;
const OPEN = ["waiting", "running"];
const STATES = [...OPEN, "interrupted", "answered", "partial", "needs_clarification", "insufficient", "failed", "cancelled"];
const RATINGS = ["up", "down"];
const ORDERS = [["created", t("Newest first")], ["duration", t("Longest first")], ["tokens", t("Most tokens first")], ["cost", t("Highest cost first")], ["confidence", t("Highest confidence first")]];
const filters = {text: "", status: "", collection: "", rating: "", sort: "created"}; // kept between visits of the page

export function showRuns(container) {
  const view = new RunsView(container);
  return {close: () => view.close()};
}

class RunsView {
  constructor(container) {
    this.runs = []; this.more = false; this.closed = false; this.timer = 0;
    this.filterForm = h("form", {class: "find", role: "search", on: {submit: (event) => event.preventDefault(), input: () => this.filterChanged()}});
    this.list = h("div", {}, loading());
    this.chosen = new Set(); // ids of the runs to compare
    this.comparison = h("p", {class: "facts", role: "status"});
    this.total = h("span", {role: "status"});
    const errorBox = h("div", {});
    const more = h("p", {class: "facts"}, this.total, h("span", {class: "end"}, importButton(errorBox)));
    container.append(h("h1", {}, t("Runs")), more, errorBox, this.filterForm, this.comparison, this.list);
    this.again = () => this.begin();
    api.connection.addEventListener("online", this.again);
    this.begin();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    api.connection.removeEventListener("online", this.again);
  }

  async begin() {
    await this.trying(async () => {
      const collections = await api.collections();
      if (!this.closed) replace(this.filterForm, filterFields(collections));
    });
    await this.load();
  }

  filterChanged() {
    Object.assign(filters, Object.fromEntries(new FormData(this.filterForm)));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), DEBOUNCE_MS);
  }

  /** Reload the first runs, as many as are shown. */
  load() {
    return this.trying(async () => {
      clearTimeout(this.timer);
      const query = {...filters, with_answers: true, limit: Math.max(PAGE, this.runs.length)};
      this.show(await api.runs(query), query.limit);
      const {runs, bytes} = await api.storedRuns();
      this.total.textContent = runs ? `${plural(runs, "run")}, ${fileSize(bytes)}` : "";
      if (!this.closed && this.runs.some((run) => OPEN.includes(run.status))) this.timer = setTimeout(() => this.load(), POLL_MS);
    });
  }

  loadMore() {
    return this.trying(async () => {
      const page = await api.runs({...filters, with_answers: true, limit: PAGE, after: this.runs.at(-1).run_id});
      this.show([...this.runs, ...page], this.runs.length + PAGE);
    });
  }

  show(runs, limit) {
    if (this.closed) return;
    this.runs = runs;
    const filtered = filters.text || filters.status || filters.collection || filters.rating;
    if (!runs.length) {
      this.list.replaceChildren(filtered ? empty(t("No matching runs")) : empty(t("No runs yet"), h("a", {href: "#/"}, t("Ask a question"))));
      return;
    }
    replace(this.list, h("ul", {class: "runs"}, runs.map((run) => row(run, this.chosen.has(run.run_id), (chosen) => this.choose(run.run_id, chosen)))),
      runs.length === limit && h("button", {type: "button", "data-key": "more", on: {click: () => this.loadMore()}}, t("Show more runs")));
  }

  /** Choose a run to compare. The last two chosen runs are compared. */
  choose(runId, chosen) {
    if (chosen) this.chosen.add(runId);
    else this.chosen.delete(runId);
    this.chosen = new Set([...this.chosen].slice(-2));
    for (const box of this.list.querySelectorAll("input[name=compare]")) box.checked = this.chosen.has(box.value);
    const [first, second] = [...this.chosen].map(encodeURIComponent);
    replace(this.comparison, second ? h("a", {href: `#/compare/${first}/${second}`}, t("Compare the two chosen runs")) : first && t("Choose a second run to compare."));
  }

  async trying(act) {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (!this.closed) this.list.replaceChildren(failure(error, error instanceof Unreachable ? null : this.again));
    }
  }
}

function filterFields(collections) {
  const choice = (name, label, all, values, say = (value) => value) => h("select", {name, "aria-label": label, "data-key": name},
    h("option", {value: ""}, all), values.map((value) => h("option", {value, selected: value === filters[name]}, say(value))));
  return [
    h("input", {type: "search", name: "text", placeholder: t("Search the questions"), "aria-label": t("Search the questions"), value: filters.text, "data-slash": true, "data-key": "text"}),
    choice("status", t("status"), t("All states"), STATES, term),
    choice("rating", t("rating"), t("All ratings"), RATINGS, term),
    collections.length > 1 && choice("collection", t("collection"), t("All collections"), collections.map((each) => each.name)),
    h("select", {name: "sort", "aria-label": t("order"), "data-key": "sort"}, ORDERS.map(([value, label]) => h("option", {value, selected: value === filters.sort}, label))),
  ];
}

function row(run, chosen, choose) {
  return h("li", {},
    !OPEN.includes(run.status) && h("input", {type: "checkbox", name: "compare", value: run.run_id, checked: chosen, "aria-label": t("Compare: {question}", {question: run.question.slice(0, 80)}), "data-key": `compare ${run.run_id}`,
      on: {change: ({currentTarget}) => choose(currentTarget.checked)}}),
    h("a", {href: `#/runs/${encodeURIComponent(run.run_id)}`, "data-key": run.run_id},
      h("span", {class: "question"}, run.question),
      run.short && h("span", {class: "said"}, run.short),
      h("span", {class: "facts"}, badge(run.status), run.rating && h("span", {title: run.note}, ratingInWords(run)), h("span", {}, run.collection), h("span", {}, run.model),
        h("time", {datetime: run.started_at}, formatTime(run.started_at)),
        run.forked_from && h("span", {}, t("forked at {forkedAt}", {forkedAt: run.forked_at})),
        figures(run).map((each) => h("span", {}, each)))));
}

/** Duration, tokens, cost, what the answer rests on and size, as far as the run has them. */
function figures({seconds: took, tokens, cost, confidence, basis, size}) {
  return [
    took !== null && seconds(took), tokens !== null && plural(tokens, "token"), cost !== null && t("cost {cost}", {cost: decimal(cost, 4)}),
    said(basis ?? "") || (confidence !== null && t("confidence {confidence}", {confidence: decimal(confidence, 2)})), size !== null && fileSize(size),
  ].filter(Boolean);
}
