/* The list of evaluations, and the beginning of new ones. */

import * as api from "../lib/api.js";
import {empty, failure, fold, h, loading, replace} from "../lib/dom.js";
import {Away, Trouble} from "../lib/errors.js";
import {evaluationForm} from "../parts/evaluation-form.js";
import {many, when} from "../lib/format.js";

const EVERY_MS = 3000;
const TONES = {finished: "done", "budget reached": "stopped", unfinished: "stopped"};

export function showEvaluations(place) {
  const view = new EvaluationsView(place);
  return {close: () => view.close()};
}

class EvaluationsView {
  constructor(place) {
    Object.assign(this, {closed: false, timer: 0});
    this.form = h("div", {});
    this.list = h("div", {}, loading());
    this.again = () => this.begin();
    api.connection.addEventListener("back", this.again);
    place.append(h("h1", {}, "Evaluations"), this.form, this.list);
    this.begin();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    api.connection.removeEventListener("back", this.again);
  }

  begin() {
    return this.trying(async () => {
      const [collections, endpoints] = await Promise.all([api.collections(), api.endpoints()]);
      const evaluations = await this.load();
      if (this.closed || this.form.firstChild) return; // what was filled in stays when the server comes back
      replace(this.form, collections.length > 0 && fold("new evaluation", "Begin an evaluation",
        () => evaluationForm(collections, endpoints), !evaluations.length));
    });
  }

  async load() {
    clearTimeout(this.timer);
    const [evaluations, jobs] = await Promise.all([api.evaluations(), api.openJobs("evaluation")]);
    if (this.closed) return evaluations;
    this.draw(evaluations, jobs);
    if (jobs.length) this.timer = setTimeout(() => this.trying(() => this.load()), EVERY_MS);
    return evaluations;
  }

  draw(evaluations, jobs) {
    if (!evaluations.length) {
      this.list.replaceChildren(empty("Nothing was evaluated yet",
        "Ask a set of questions whose answers you know, and see how many come out right, and where the others went wrong."));
      return;
    }
    replace(this.list, h("ul", {class: "runs evaluations"}, evaluations.map((each) => row(each, jobOf(each, jobs)))));
  }

  async trying(act) {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      if (!this.closed) this.list.replaceChildren(failure(error, error instanceof Away ? null : this.again));
    }
  }
}

/** The job that an evaluation is under way in, if it is, among those that are open. */
export function jobOf({id}, jobs) {
  return jobs.find((job) => job.id === id || job.id.startsWith(`${id}-`));
}

/** How far an evaluation is, as a badge. */
export function stateOf(evaluation, job) {
  const state = job?.status ?? evaluation.state;
  return h("span", {class: `badge is-${TONES[state] ?? state}`}, state);
}

/** How it was asked, in a few words. */
export function asked({configuration}) {
  const {mode, agent, model, samples} = configuration;
  return [agent || mode, model, samples && many(samples, "sample")].filter(Boolean).map((each) => h("span", {}, each));
}

function row(evaluation, job) {
  const {id, set_name: name, configuration, collection, questions, right} = evaluation;
  return h("li", {},
    h("a", {href: `#/evaluations/${encodeURIComponent(id)}`, "data-key": id},
      h("span", {class: "glance"}, right === null ? "–" : `${Math.round(right * 100)} %`, h("span", {class: "note"}, "right")),
      h("span", {},
        h("span", {class: "question"}, `${name}: ${configuration.label}`),
        h("span", {class: "facts"}, stateOf(evaluation, job),
          h("span", {}, evaluation.asked < questions ? `${evaluation.asked} of ${many(questions, "question")}` : many(questions, "question")),
          h("span", {}, collection), asked(evaluation), h("time", {datetime: evaluation.started_at}, when(evaluation.started_at))))));
}
