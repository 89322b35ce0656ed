/* One run: answer, plans, timeline and events. Steps and events open in the side panel. */

import {answerView} from "../parts/answer/answer.js";
import {openQuote} from "../parts/answer/evidence.js";
import {Approvals} from "../parts/run/approvals.js";
import * as api from "../lib/api.js";
import {failure, h, loading, replace} from "../lib/dom.js";
import {Unreachable} from "../lib/errors.js";
import {runExport} from "../parts/run/export-run.js";
import {EventList} from "../parts/run/event-list.js";
import {filesOf} from "../parts/run/files.js";
import {updateFound} from "../parts/run/found.js";
import {graph} from "../parts/run/graph.js";
import {head} from "../parts/run/head.js";
import {LiveRun} from "../lib/live.js";
import {closePanel, openPanel, panel, panelShows, updatePanel} from "../parts/panel.js";
import {replayer} from "../parts/run/replay.js";
import {revisions} from "../parts/run/revisions.js";
import {planSaver} from "../parts/run/save-plan.js";
import {confirmButton, TO_BIN, tryAction} from "../parts/forms.js";
import {may, owner} from "../lib/session.js";
import {eventView, stepView, vote} from "../parts/run/step.js";
import {Thread} from "../parts/thread.js";
import {namePassages} from "../parts/tables.js";
import {timeline} from "../parts/run/timeline.js";
import {whyFold} from "../parts/run/why.js";
import {waiting} from "../parts/run/waiting.js";
import {pagerBar, pagerKeys} from "../parts/pager.js";
import {formatTime, shorten} from "../lib/format.js";
import {phrase, t} from "../lib/i18n.js";

/** Show the run; with `stepKey` or `number`, open that step, or that quote of the answer. */
export function showRun(container, runId, stepKey, number) {
  const view = new RunView(container, runId, stepKey ?? "", Number(number ?? 0));
  return {close: () => view.close(), moved: (path) => view.moved(path)};
}

class RunView {
  constructor(container, runId, stepKey, number) {
    this.runId = runId; this.stepKey = stepKey; this.number = number; this.changed = "";
    this.answered = null; this.scrolledTo = "";
    this.head = h("div", {}, h("h1", {class: "hidden"}, t("Run")), loading(t("Loading the run")));
    this.answer = h("div", {});
    this.plans = h("div", {class: "screen-only"});
    this.times = h("div", {});
    this.errorBox = h("div", {});
    this.live = new LiveRun(runId, () => this.draw());
    this.list = new EventList(this.live, (event) => this.openEvent(event), panel);
    this.thread = new Thread(runId, "runs");
    this.body = h("div", {hidden: true}, this.answer, this.thread.after, this.plans,
      h("section", {class: "screen-only"}, h("h2", {}, t("Timeline")), this.times),
      h("section", {class: "screen-only"}, h("h2", {}, t("Events")), this.list.element));
    this.approvals = new Approvals(this.live);
    this.replayer = replayer(runId, (step) => `${this.base}/steps/${encodeURIComponent(step)}`);
    container.append(this.thread.before, this.head, this.errorBox, this.approvals.element, this.body);
    this.above = new ResizeObserver(() => this.showChosen());
    for (const element of [this.head, this.answer, this.thread.after]) this.above.observe(element);
    this.listeners = new AbortController();
    const options = {passive: true, signal: this.listeners.signal};
    for (const act of ["wheel", "touchstart", "pointerdown", "keydown"]) addEventListener(act, () => this.above.disconnect(), options);
  }

  close() {
    this.above.disconnect();
    this.listeners.abort();
    this.live.close();
    this.list.close();
    this.approvals.close();
    this.thread.close();
  }

  /** Open the step or quote that the URL names, and return true, if the URL is of this run. */
  moved(path) {
    const [, runs, run, part, step] = path.split("/").map(decodeURIComponent);
    if (runs !== "runs" || run !== this.runId) return false;
    this.stepKey = step ?? "";
    this.number = step ? 0 : Number(part ?? 0);
    if (!part) closePanel();
    this.drawStep();
    this.drawQuote();
    return true;
  }

  drawQuote() {
    if (this.number && this.answered) openQuote(this.answered.evidence, this.number, this.live.collection, {runId: this.runId, base: this.base});
  }

  get base() {
    return `#/runs/${encodeURIComponent(this.runId)}`;
  }

  href = (step) => {
    return `${this.base}/steps/${encodeURIComponent(step.key)}`;
  };

  openNumber = (number) => this.list.openNumber(number);

  draw() {
    const {live} = this;
    const known = live.summary || live.model.started;
    this.errorBox.replaceChildren(...(live.error && !(live.error instanceof Unreachable && known) ? [failure(live.error)] : []));
    if (!known) {
      if (live.error) this.head.replaceChildren(h("h1", {}, t("Run")));
      return;
    }
    this.body.hidden = false;
    namePassages(live.model.passages);
    replace(this.head, head(live));
    updateFound(live);
    this.approvals.update();
    this.thread.update(live);
    if (live.answer && this.answered !== live.answer) {
      this.answered = live.answer;
      this.answer.replaceChildren(answerView(live, this.base), whyFold(live));
      this.drawQuote();
    }
    replace(this.plans, this.attempts());
    replace(this.times, live.model.events.length ? timeline(live.model, Date.now(), live.over, this.href, this.openNumber) : h("p", {class: "note"}, t("No events yet.")));
    this.list.update();
    this.drawStep();
  }

  attempts() {
    const {model, over} = this.live;
    const ended = (attempt) => over || attempt.number < model.attempts.length;
    return [
      this.live.status === "interrupted"
        ? h("p", {class: "note"}, phrase("The process of this run was killed. {command} continues it.", {command: h("code", {}, `candor runs resume ${this.runId}`)}))
        : waiting(this.live),
      model.resumed.length > 0 && h("p", {class: "note"}, t("The service was restarted during this run ({resumed}). The run resumed; finished work was read from its journal.", {resumed: model.resumed.map((time) => formatTime(time)).join(", ")})),
      model.attempts.length > 1 && revisions(model, over, this.href),
      model.attempts.map((attempt) => attempt.plan && h("section", {class: "attempt"},
        h("h2", {}, model.attempts.length > 1 ? t("Plan, attempt {number}", {number: attempt.number}) : t("Plan")),
        h("p", {class: "text"}, attempt.plan.goal),
        attempt.number === 1 && model.planned && h("p", {class: "note"}, [model.planned.understanding.domain && `${model.planned.understanding.domain} · `, t("Mode {mode}", {mode: attempt.plan.mode}), model.planned.mode_reason && `: ${model.planned.mode_reason}`]),
        attempt.diagnosis && h("p", {class: "text"}, h("strong", {}, `${t("Revised because:")} `), attempt.diagnosis),
        h("div", {class: "wide"}, graph(attempt, ended(attempt), this.href, this.stepKey)),
        attempt.outcome && h("p", {class: "note"}, attempt.outcome.line))),
      model.panel.faults.length > 0 && h("p", {class: "note"}, t("Rejected plan: {faults}", {faults: model.panel.faults.join(" ")})),
      model.declined && model.finished?.reason !== model.declined && h("p", {class: "note"}, t("No further plan: {declined}", {declined: model.declined})),
      model.votes.map(vote),
      over && model.started && this.replayer,
      over && owner() && model.planned && planSaver(this.runId),
      over && runExport(this.runId),
      over && may("admin", this.live.collection) && h("p", {}, confirmButton(t("Delete this run"), "delete run", () => this.remove(), t("Its question, answer and steps are in no list. {bin}", {bin: TO_BIN}))),
      over && model.steps.some((step) => step.tools.length > 0) && filesOf(this.runId, this.live.collection),
    ];
  }

  remove() {
    return tryAction(this.errorBox, async () => {
      await api.removeRun(this.runId);
      location.hash = "#/runs";
    });
  }

  drawStep() {
    if (!this.stepKey) return;
    const name = `step ${this.stepKey}`;
    const step = this.live.model.step(this.stepKey);
    if (!step && !this.live.over) return; // it may still appear
    const mark = step ? `${step.changed} ${this.live.over}` : "none";
    if (panelShows(name) && this.changed === mark) return;
    this.changed = mark;
    const content = step
      ? stepView(this.live, step, this.live.over || step.attempt < this.live.model.attempts.length, this.href)
      : h("p", {class: "note"}, t("Step not found."));
    if (panelShows(name)) updatePanel(name, content);
    else openPanel({name, title: step?.id ?? this.stepKey, content, closed: () => this.leaveStep(name)});
    this.scrollTo(step);
  }

  /** Scroll to the step in its plan: once, and again while parts above it load, until the user acts. */
  scrollTo(step) {
    if (!step || this.scrolledTo === step.key) return;
    this.scrolledTo = step.key;
    for (const node of this.plans.querySelectorAll("[data-key]")) node.classList.toggle("chosen", node.dataset.key === `node ${step.key}`);
    this.showChosen();
  }

  showChosen() {
    this.plans.querySelector(".chosen")?.scrollIntoView({block: "nearest", inline: "center"});
  }

  /** Remove the step from the URL when its panel is closed or replaced. */
  leaveStep(name) {
    if (`step ${this.stepKey}` !== name || this.live.closed) return;
    this.stepKey = this.scrolledTo = "";
    history.replaceState(null, "", this.base);
    this.plans.querySelector(".chosen")?.classList.remove("chosen");
  }

  openEvent(event) {
    const step = event.step && this.live.model.steps.find((each) => each.events.includes(event));
    const {list} = this;
    const go = (by) => list.go(by);
    openPanel({
      name: `event ${event.number}`, title: shorten(event.title, 80), key: pagerKeys(go),
      content: [list.at >= 0 && pagerBar(t("event"), list.at, list.found.length, go), eventView(this.live, event, step && this.href(step))],
    });
  }
}
