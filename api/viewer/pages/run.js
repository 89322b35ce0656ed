/* One run: answer, plans, timeline and events. Steps and events open in the side panel. */

import {answerView} from "../parts/answer/answer.js";
import {openQuote} from "../parts/answer/evidence.js";
import {Approvals} from "../parts/run/approvals.js";
import * as api from "../lib/api.js";
import {badge, failure, h, loading, replace} from "../lib/dom.js";
import {Unreachable} from "../lib/errors.js";
import {inWords} from "../parts/filters.js";
import {runExport} from "../parts/run/export-run.js";
import {EventList} from "../parts/run/event-list.js";
import {filesOf} from "../parts/run/files.js";
import {changesOf} from "../parts/run/fork.js";
import {foundButton, updateFound} from "../parts/run/found.js";
import {graph} from "../parts/run/graph.js";
import {LiveRun} from "../lib/live.js";
import {closePanel, openPanel, panel, panelShows, updatePanel} from "../parts/panel.js";
import {replayer} from "../parts/run/replay.js";
import {revisions} from "../parts/run/revisions.js";
import {planSaver} from "../parts/run/save-plan.js";
import {confirmButton, TO_BIN, tryAction} from "../parts/forms.js";
import {may, owner} from "../lib/session.js";
import {eventView, stepView, vote} from "../parts/run/step.js";
import {choose, Thread} from "../parts/thread.js";
import {namePassages} from "../parts/tables.js";
import {timeline} from "../parts/run/timeline.js";
import {whyFold} from "../parts/run/why.js";
import {waiting} from "../parts/run/waiting.js";
import {pagerBar, pagerKeys} from "../parts/pager.js";
import {costOf, formatTime, plural, seconds, shorten, tokens} from "../lib/format.js";

/** Show the run; with `stepKey` or `number`, open that step, or that quote of the answer. */
export function showRun(container, runId, stepKey, number) {
  const view = new RunView(container, runId, stepKey ?? "", Number(number ?? 0));
  return {close: () => view.close(), moved: (path) => view.moved(path)};
}

class RunView {
  constructor(container, runId, stepKey, number) {
    this.runId = runId; this.stepKey = stepKey; this.number = number; this.changed = "";
    this.answered = null; this.scrolledTo = "";
    this.head = h("div", {}, h("h1", {class: "hidden"}, "Run"), loading("Loading the run"));
    this.answer = h("div", {});
    this.plans = h("div", {class: "screen-only"});
    this.times = h("div", {});
    this.errorBox = h("div", {});
    this.live = new LiveRun(runId, () => this.draw());
    this.list = new EventList(this.live, (event) => this.openEvent(event), panel);
    this.thread = new Thread(runId, "runs");
    this.body = h("div", {hidden: true}, this.answer, this.thread.after, this.plans,
      h("section", {class: "screen-only"}, h("h2", {}, "Timeline"), this.times),
      h("section", {class: "screen-only"}, h("h2", {}, "Events"), this.list.element));
    this.approvals = new Approvals(this.live);
    this.replayer = replayer(runId, (step) => `${this.base}/steps/${encodeURIComponent(step)}`);
    container.append(this.thread.before, this.head, this.errorBox, this.approvals.element, this.body);
  }

  close() {
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
      if (live.error) this.head.replaceChildren(h("h1", {}, "Run"));
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
      this.answer.replaceChildren(answerView(live.answer, live.collection, this.base, (candidate) => choose(live, candidate)), whyFold(live));
      this.drawQuote();
    }
    replace(this.plans, this.attempts());
    replace(this.times, live.model.events.length ? timeline(live.model, Date.now(), live.over, this.href, this.openNumber) : h("p", {class: "note"}, "No events yet."));
    this.list.update();
    this.drawStep();
  }

  attempts() {
    const {model, over} = this.live;
    const ended = (attempt) => over || attempt.number < model.attempts.length;
    return [
      this.live.status === "interrupted"
        ? h("p", {class: "note"}, "The process of this run was killed. ", h("code", {}, `candor runs resume ${this.runId}`), " continues it.")
        : waiting(this.live),
      model.resumed.length > 0 && h("p", {class: "note"}, `The service was restarted during this run (${model.resumed.map((time) => formatTime(time)).join(", ")}). The run resumed; finished work was read from its journal.`),
      model.attempts.length > 1 && revisions(model, over, this.href),
      model.attempts.map((attempt) => attempt.plan && h("section", {class: "attempt"},
        h("h2", {}, model.attempts.length > 1 ? `Plan, attempt ${attempt.number}` : "Plan"),
        h("p", {class: "text"}, attempt.plan.goal),
        attempt.number === 1 && model.planned && h("p", {class: "note"}, `${model.planned.understanding.domain ? `${model.planned.understanding.domain} · ` : ""}Mode ${attempt.plan.mode}${model.planned.mode_reason ? `: ${model.planned.mode_reason}` : ""}`),
        attempt.diagnosis && h("p", {class: "text"}, h("strong", {}, "Revised because: "), attempt.diagnosis),
        h("div", {class: "wide"}, graph(attempt, ended(attempt), this.href, this.stepKey)),
        attempt.outcome && h("p", {class: "note"}, attempt.outcome.line))),
      model.panel.faults.length > 0 && h("p", {class: "note"}, `Rejected plan: ${model.panel.faults.join(" ")}`),
      model.declined && model.finished?.reason !== model.declined && h("p", {class: "note"}, `No further plan: ${model.declined}`),
      model.votes.map(vote),
      over && model.started && this.replayer,
      over && owner() && model.planned && planSaver(this.runId),
      over && runExport(this.runId),
      over && may("admin", this.live.collection) && h("p", {}, confirmButton("Delete this run", "delete run", () => this.remove(), `Its question, answer and steps are in no list. ${TO_BIN}`)),
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
      : h("p", {class: "note"}, "Step not found.");
    if (panelShows(name)) updatePanel(name, content);
    else openPanel({name, title: step?.id ?? this.stepKey, content, closed: () => this.leaveStep(name)});
    this.scrollTo(step);
  }

  /** Scroll to the step in its plan, but only once, so as not to fight the user. */
  scrollTo(step) {
    if (!step || this.scrolledTo === step.key) return;
    this.scrolledTo = step.key;
    for (const node of this.plans.querySelectorAll("[data-key]")) {
      node.classList.toggle("chosen", node.dataset.key === `node ${step.key}`);
      if (node.matches(".chosen")) node.scrollIntoView({block: "nearest", inline: "center"});
    }
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
      content: [list.at >= 0 && pagerBar("event", list.at, list.found.length, go), eventView(this.live, event, step && this.href(step))],
    });
  }
}

/** The question and the status of its run. */
export function head(live) {
  const {model} = live;
  const changed = model.started?.request.fork && changesOf(model.started.request.fork);
  const took = model.began && (model.ended ?? Date.now()) - model.began;
  return [
    h("div", {class: "headline"}, h("h1", {class: "asked"}, live.question),
      live.over ? h("a", {class: "again", href: `#/again/${encodeURIComponent(live.id)}`, "data-key": "again"}, "Ask again …") : stopButton(live)),
    model.completed && model.completed.question !== live.question && h("p", {class: "note"}, "Understood from the conversation as: ", completion(model.completed)),
    live.summary?.forked_from && h("p", {class: "note"}, "Forked from ", h("a", {href: `#/runs/${encodeURIComponent(live.summary.forked_from)}`}, live.summary.forked_from),
      ` at the step ${live.summary.forked_at}${changed ? `: ${changed}` : ""}. `,
      live.over && h("a", {href: `#/compare/${encodeURIComponent(live.summary.forked_from)}/${encodeURIComponent(live.id)}`}, "Compare both")),
    h("p", {class: "facts"}, badge(live.status),
      live.collection && h("span", {}, live.collection),
      model.started?.request.filter && h("span", {}, inWords(model.started.request.filter)),
      live.summary && [h("span", {}, live.summary.model), h("span", {}, formatTime(live.summary.started_at))],
      took && h("span", {}, seconds(took / 1000)),
      model.usage.model_calls > 0 && [h("span", {}, plural(model.usage.model_calls, "model call")), h("span", {}, tokens(model.usage)), costOf(model.usage) && h("span", {}, costOf(model.usage))],
      foundButton(live)),
  ];
}

function stopButton(live) {
  return h("button", {type: "button", class: "quiet stop", "data-key": "stop", on: {click: async ({currentTarget}) => {
    currentTarget.disabled = true;
    try {
      await api.cancel(live.id);
    } catch (error) {
      live.failed(error);
    }
  }}}, "Cancel");
}

/** The completed question, with the words marked that the person did not write. */
function completion({question, added = []}) {
  const words = new Set(added);
  return h("q", {}, question.split(/([\p{L}\p{N}]+)/u).map((part) => words.has(part) ? h("mark", {class: "added", title: "From the conversation"}, part) : part));
}
