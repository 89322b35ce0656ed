/* The list of evaluations, and the form to start one. */

import * as api from "../lib/api.js";
import {empty, failure, fold, h, loading, replace} from "../lib/dom.js";
import {RequestError, Unreachable} from "../lib/errors.js";
import {evaluationForm} from "../parts/evaluation-form.js";
import {formatTime, plural} from "../lib/format.js";
import {n, t, term} from "../lib/i18n.js";

const POLL_MS = 3000;
const TONES = {finished: "done", "budget reached": "stopped", unfinished: "stopped"};

export function showEvaluations(container) {
  const view = new EvaluationsView(container);
  return {close: () => view.close()};
}

class EvaluationsView {
  constructor(container) {
    this.closed = false; this.timer = 0;
    this.form = h("div", {});
    this.list = h("div", {}, loading());
    this.again = () => this.begin();
    api.connection.addEventListener("online", this.again);
    container.append(h("h1", {}, t("Evaluations")), this.form, this.list);
    this.begin();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    api.connection.removeEventListener("online", this.again);
  }

  begin() {
    return this.trying(async () => {
      const [collections, endpoints] = await Promise.all([api.collections(), api.endpoints()]);
      const evaluations = await this.load();
      if (this.closed || this.form.firstChild) return; // keep a half-filled form when the server comes back
      replace(this.form, collections.length > 0 && fold("new evaluation", t("Start an evaluation"),
        () => evaluationForm(collections, endpoints), !evaluations.length));
    });
  }

  async load() {
    clearTimeout(this.timer);
    const [evaluations, jobs] = await Promise.all([api.evaluations(), api.openJobs("evaluation")]);
    if (this.closed) return evaluations;
    this.draw(evaluations, jobs);
    if (jobs.length) this.timer = setTimeout(() => this.trying(() => this.load()), POLL_MS);
    return evaluations;
  }

  draw(evaluations, jobs) {
    if (!evaluations.length) {
      this.list.replaceChildren(empty(t("No evaluations yet"),
        t("Ask a set of questions with known answers, and see how many Candor answers correctly.")));
      return;
    }
    replace(this.list, h("ul", {class: "runs evaluations"}, evaluations.map((each) => row(each, jobOf(each, jobs)))));
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

/** Find the open job of an evaluation. */
export function jobOf({id}, jobs) {
  return jobs.find((job) => job.id === id || job.id.startsWith(`${id}-`));
}

/** The state of an evaluation as a badge. */
export function stateOf(evaluation, job) {
  const state = job?.status ?? evaluation.state;
  return h("span", {class: `badge is-${TONES[state] ?? state}`}, term(state));
}

/** The configuration of an evaluation in a few words. */
export function configurationOf({configuration}) {
  const {mode, agent, model, samples} = configuration;
  return [agent || mode, model, samples && plural(samples, "sample")].filter(Boolean).map((each) => h("span", {}, each));
}

function row(evaluation, job) {
  const {id, set_name: name, configuration, collection, questions, right} = evaluation;
  return h("li", {},
    h("a", {href: `#/evaluations/${encodeURIComponent(id)}`, "data-key": id},
      h("span", {class: "glance"}, right === null ? "–" : `${Math.round(right * 100)} %`, h("span", {class: "note"}, t("right"))),
      h("span", {},
        h("span", {class: "question"}, `${name}: ${configuration.label}`),
        h("span", {class: "facts"}, stateOf(evaluation, job),
          h("span", {}, evaluation.asked < questions ? n(questions, "{part} of {count} question", "{part} of {count} questions", {part: evaluation.asked}) : plural(questions, "question")),
          h("span", {}, collection), configurationOf(evaluation), h("time", {datetime: evaluation.started_at}, formatTime(evaluation.started_at))))));
}
