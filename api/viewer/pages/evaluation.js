/* One evaluation: figures, wrong answers by cause, and every question with its result. */

import * as api from "../lib/api.js";
import {failure, h, loading, replace} from "../lib/dom.js";
import {RequestError, Unreachable} from "../lib/errors.js";
import {configurationOf, jobOf, stateOf} from "./evaluations.js";
import {confirmButton, tryAction} from "../parts/forms.js";
import {bounds, figureHead, figureTable, formatValue, portion, share} from "../parts/intervals.js";
import {isOpen, JobWatch} from "../parts/jobs.js";
import {questionTable, verdict} from "../parts/questions.js";
import {saveFile} from "../lib/save-file.js";
import {may} from "../lib/session.js";
import {formatTime, plural, tokens} from "../lib/format.js";
import {n, number, t, term} from "../lib/i18n.js";

const FORMATS = [["html", "HTML"], ["md", "Markdown"], ["json", "JSON"]];
const RELOAD_MS = 2500; // between updates of the figures while questions are being answered
const RIGHT = "right";

export function showEvaluation(container, id) {
  const view = new EvaluationView(container, id);
  return {close: () => view.close()};
}

/** Model calls and tokens of the answers and of the judge. */
function spending({spent, judging}) {
  const format = (usage) => `${plural(usage.model_calls, "model call")}, ${tokens(usage)}`;
  return judging.model_calls ? t("{spent}; judge: {judging}", {spent: format(spent), judging: format(judging)}) : format(spent);
}

class EvaluationView {
  constructor(container, id) {
    this.id = id; this.watch = null; this.chosen = ""; this.rows = undefined; this.loadedAt = 0;
    this.closed = false; this.others = [];
    this.head = h("div", {}, h("h1", {}, t("Evaluation")), loading());
    this.errorBox = h("div", {});
    this.work = h("div", {});
    this.body = h("div", {});
    container.append(this.head, this.errorBox, this.work, this.body);
    this.again = () => this.load();
    api.connection.addEventListener("online", this.again);
    this.load();
  }

  close() {
    this.closed = true;
    this.watch?.close();
    api.connection.removeEventListener("online", this.again);
  }

  async load() {
    try {
      const [details, evaluations, jobs] = await Promise.all([api.evaluation(this.id), api.evaluations(), api.openJobs("evaluation")]);
      if (this.closed) return;
      const {evaluation} = details.result;
      this.details = details;
      this.others = evaluations.filter((each) => each.id !== evaluation.id && each.fingerprint === evaluation.fingerprint);
      this.follow(jobOf(evaluation, jobs));
      this.draw();
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error) {
    if (!(error instanceof RequestError)) throw error;
    if (this.closed) return;
    if (!this.details) this.head.replaceChildren(h("h1", {}, t("Evaluation")));
    this.errorBox.replaceChildren(failure(error, error instanceof Unreachable ? null : this.again));
  }

  follow(job) {
    this.loadedAt = Date.now();
    if (!job || this.watch?.job.id === job.id) return;
    this.watch?.close();
    this.watch = new JobWatch(job, () => {
      this.drawWork();
      if (!isOpen(this.watch.job) || Date.now() - this.loadedAt > RELOAD_MS) this.load();
    }, (error) => this.failed(error));
  }

  get job() {
    return this.watch && isOpen(this.watch.job) ? this.watch.job : null;
  }

  act(action) {
    return tryAction(this.errorBox, action);
  }

  draw() {
    const {result: {evaluation, questions, rows}, summary, meanings} = this.details;
    this.drawHead(evaluation, summary);
    this.drawWork();
    replace(this.body,
      h("section", {"aria-label": t("Figures")}, h("h2", {}, t("Figures")), summary.asked
        ? figureTable(summary.figures, meanings) : h("p", {class: "note"}, t("No answers yet."))),
      places(summary, (place) => this.choose(place)),
      tags(summary, meanings),
      metricErrors(summary),
      this.questions(questions, rows));
  }

  drawHead(evaluation, summary) {
    const {set_name: name, configuration, collection, judge} = evaluation;
    replace(this.head, h("h1", {}, `${name}: ${configuration.label}`),
      h("p", {class: "facts"}, stateOf(evaluation, this.job),
        h("span", {}, n(summary.questions, "{part} of {count} question", "{part} of {count} questions", {part: number(summary.asked)})),
        h("span", {}, collection), configurationOf(evaluation), judge && h("span", {}, t("judged by {judge}", {judge})),
        h("span", {}, spending(summary)),
        h("time", {datetime: evaluation.started_at}, formatTime(evaluation.started_at))),
      this.actions(evaluation, summary));
  }

  actions(evaluation, summary) {
    const resume = () => this.act(async () => {
      this.follow(await api.resumeEvaluation(evaluation.id));
      this.draw();
    });
    const drop = () => this.act(async () => {
      await api.removeEvaluation(evaluation.id);
      location.hash = "#/evaluations";
    });
    return h("div", {class: "export tools-row"},
      summary.asked > 0 && [h("span", {class: "note"}, t("Save a report as")), FORMATS.map(([format, label]) => h("button", {
        type: "button", class: "quiet", "data-key": `report ${format}`, on: {click: () => this.act(async () => saveFile(await api.evaluationReport([evaluation.id], format)))},
      }, label))],
      this.others.length > 0 && h("label", {class: "note"}, `${t("Compare with")} `, h("select", {"data-key": "compare", on: {change: ({target}) => {
        location.hash = `#/evaluations/${encodeURIComponent(evaluation.id)}/against/${encodeURIComponent(target.value)}`;
      }}}, h("option", {value: ""}, t("choose…")), this.others.map((each) => h("option", {value: each.id}, `${each.configuration.label}, ${formatTime(each.started_at)}`)))),
      !this.job && h("span", {class: "end"},
        evaluation.state !== "finished" && h("button", {type: "button", "data-key": "resume", on: {click: resume}}, t("Resume")),
        may("write", evaluation.collection) && confirmButton(t("Delete"), `delete ${evaluation.id}`, drop)));
  }

  drawWork() {
    const {watch, job} = this;
    const progress = watch?.job.progress;
    const stop = () => this.act(() => api.cancelJob(job.id));
    replace(this.work,
      job && h("div", {class: "job", role: "status"},
        h("p", {class: "facts"}, h("span", {}, progress ? n(progress.questions, "{part} of {count} question answered", "{part} of {count} questions answered", {part: number(progress.asked)}) : t("queued")),
          progress?.right !== null && progress?.right !== undefined && h("span", {}, t("{right} % right so far", {right: Math.round(progress.right * 100)})),
          h("button", {type: "button", class: "quiet", "data-key": "stop", on: {click: stop}}, t("Cancel"))),
        h("progress", {max: progress?.questions ?? 1, value: progress?.asked ?? null, "aria-label": t("Questions answered")})),
      watch?.job.error && h("p", {class: "fault"}, watch.job.error));
  }

  choose(place) {
    this.chosen = this.chosen === place ? "" : place; this.rows = undefined;
    this.draw();
    this.body.querySelector("[data-key='questions']").scrollIntoView({block: "nearest"});
  }

  questions(questions, rows) {
    const found = new Map(rows.map((row) => [row.question_id, row]));
    const all = questions.map((question) => ({question, row: found.get(question.id)}));
    const groups = Map.groupBy(all, ({row}) => verdict(row));
    const filtered = this.chosen ? all.filter(({row}) => [verdict(row), row?.place].includes(this.chosen)) : all;
    return h("section", {"aria-label": t("Questions"), "data-key": "questions"}, h("h2", {}, t("Questions")),
      h("div", {class: "filter", role: "group", "aria-label": t("Verdicts")}, [["", all], ...groups].map(([name, each]) => h("button", {
        type: "button", "aria-pressed": String(name === this.chosen), "data-key": `verdict ${name}`, on: {click: () => this.choose(name)},
      }, `${name ? term(name) : t("all")} ${number(each.length)}`))),
      questionTable(filtered, this.rows, (count) => { this.rows = count; this.draw(); }));
  }
}

/** Wrong answers by cause; each cause filters the questions. */
function places({places: found, asked: count}, choose) {
  const wrong = Object.entries(found).filter(([place]) => place !== RIGHT).sort(([, one], [, other]) => other - one);
  if (!wrong.length) return null;
  return h("section", {"aria-label": t("Wrong answers by cause")}, h("h2", {}, t("Wrong answers by cause")),
    h("ul", {class: "places"}, wrong.map(([place, times]) => h("li", {},
      h("button", {type: "button", class: "quiet", "data-key": `place ${place}`, on: {click: () => choose(place)}}, term(place)),
      portion(times / count), h("span", {class: "number"}, times)))));
}

function tags({by_tag: found}, meanings) {
  const names = Object.keys(found);
  const figure = ["judged", "correct"].find((name) => names.some((tag) => found[tag][name]));
  if (!figure) return null;
  return h("section", {"aria-label": t("By tag")}, h("h2", {}, t("By tag: {figure}", {figure})), h("div", {class: "wide"}, h("table", {class: "figures"},
    figureHead(t("Tag"), t("Mean"), t("95 % interval"), t("Questions")),
    h("tbody", {}, names.filter((tag) => found[tag][figure]).map((tag) => {
      const interval = found[tag][figure];
      return h("tr", {}, h("th", {scope: "row"}, tag), h("td", {class: "number"}, formatValue(interval.mean, meanings[figure])),
        h("td", {class: "drawn"}, share(interval), h("span", {class: "note"}, bounds(interval, meanings[figure]))), h("td", {class: "number"}, interval.n));
    })))));
}

/** Metric errors: excluded from the figures, not counted as zero. */
function metricErrors({errors}) {
  const found = Object.entries(errors);
  return found.length > 0 && h("p", {class: "note"}, `${t("Metric errors:")} `,
    found.map(([metric, count]) => n(count, "{metric} on {count} answer", "{metric} on {count} answers", {metric})).join("; "));
}
