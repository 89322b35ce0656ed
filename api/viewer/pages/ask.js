/* The page to ask a question and watch its run. */

import {answerView, DraftView} from "../parts/answer/answer.js";
import * as api from "../lib/api.js";
import {Approvals} from "../parts/run/approvals.js";
import {askForm} from "../parts/ask-form.js";
import {badge, empty, failure, h, loading, replace} from "../lib/dom.js";
import {Unreachable} from "../lib/errors.js";
import {updateFound} from "../parts/run/found.js";
import {openQuote} from "../parts/answer/evidence.js";
import {LiveRun} from "../lib/live.js";
import {agentsOf, statusOf} from "../lib/model.js";
import {closePanel, hasRoom, panel} from "../parts/panel.js";
import {owner} from "../lib/session.js";
import {setupCard} from "../parts/setup.js";
import {head} from "../parts/run/head.js";
import {Thread} from "../parts/thread.js";
import {whyFold} from "../parts/run/why.js";
import {waiting} from "../parts/run/waiting.js";
import {eventLine, plural, shorten} from "../lib/format.js";
import {t} from "../lib/i18n.js";

/** Show the form or, with `runId`, the conversation with the live run; with `number`, open that quote once the answer is there. */
export function showAsk(container, runId, number) {
  const view = new AskView(container);
  view.follow(runId, number);
  return {close: () => view.close(), moved: (path) => view.moved(path)};
}

class AskView {
  constructor(container) {
    this.form = h("div", {});
    this.bar = h("div", {class: "conversation-bar"}, h("a", {class: "button", href: "#/"}, t("New conversation")));
    this.before = h("div", {});
    this.run = h("div", {class: "live", tabindex: "-1"});
    this.live = this.approvals = this.thread = null;
    this.setup = setupCard();
    container.append(h("h1", {class: "hidden"}, t("Ask")), this.setup, this.form, this.bar, this.before, this.run);
    this.again = () => this.load();
  }

  /** Show the form, empty and with the present collections. */
  async load() {
    this.form.replaceChildren(loading());
    try {
      const [collections, ...options] = await Promise.all([api.collections(), api.endpoints(), api.plans(), api.defaults()]);
      if (this.live) return;
      this.form.replaceChildren(collections.length ? askForm(collections, ...options) : owner() ? "" : noDocuments());
      this.form.querySelector("textarea")?.focus({preventScroll: true});
    } catch (error) {
      this.form.replaceChildren(failure(error, error instanceof Unreachable ? null : this.again));
      if (error instanceof Unreachable) api.online().then(this.again);
    }
  }

  moved(path) {
    const [, ask, runId, number] = path.split("/").map(decodeURIComponent);
    if (path !== "/" && ask !== "ask") return false;
    if (path === "/" && !this.live) return true;
    if (runId && runId === this.live?.id) this.openNumber(Number(number ?? 0));
    else this.follow(runId, number);
    return true;
  }

  /** Open a quote of the answer; 0 closes it. */
  openNumber(number) {
    const {id, answer, collection} = this.live;
    if (!number) closePanel();
    else if (answer) openQuote(answer.evidence, number, collection, {runId: id, base: addressOf(id)});
  }

  /** Show the first cited quote beside the answer, where there is room and the panel shows nothing else. */
  openFirst() {
    const {id, answer, collection} = this.live;
    const [first] = answer.claims.flatMap((claim) => claim.evidence);
    if (first && panel.hidden && hasRoom()) openQuote(answer.evidence, first, collection, {runId: id, still: true});
  }

  follow(runId, number) {
    this.close();
    this.live = this.approvals = this.thread = null;
    closePanel();
    const typing = this.form.contains(document.activeElement) || this.run.contains(document.activeElement);
    for (const part of [this.form, this.before, this.run]) part.replaceChildren();
    this.bar.hidden = !runId;
    this.setup.hidden = Boolean(runId);
    if (!runId) {
      this.load();
      return;
    }
    const thread = this.thread = new Thread(runId, "ask", () => this.run.scrollIntoView());
    const work = h("div", {class: "work"});
    const top = h("div", {}, loading(t("Asking")));
    const answer = h("div", {"aria-live": "polite"});
    const errorBox = h("div", {});
    let shown = null, draft = null;
    this.live = new LiveRun(runId, (live) => {
      const known = live.summary || live.model.started;
      errorBox.replaceChildren(...(live.error && !(live.error instanceof Unreachable && known) ? [failure(live.error)] : []));
      if (!known) {
        if (live.error) top.replaceChildren();
        return;
      }
      replace(top, head(live));
      updateFound(live);
      approvals.update();
      thread.update(live);
      replace(work, workView(live));
      if (live.answer && shown !== live.answer) {
        const first = !shown; // the answer may arrive twice, and the person may have closed its quote
        shown = live.answer;
        replace(answer, answerView(live, addressOf(runId)), whyFold(live));
        if (first && number) this.openNumber(Number(number));
        else if (first) this.openFirst();
      }
      if (live.answer) return;
      const {drafts, computations} = live.model;
      if (!drafts.length) answer.replaceChildren();
      else {
        draft ??= new DraftView(live.collection);
        draft.show(drafts, computations);
        if (!draft.element.isConnected) answer.replaceChildren(draft.element);
      }
    });
    const approvals = this.approvals = new Approvals(this.live);
    this.before.append(thread.before);
    this.run.append(top, errorBox, approvals.element, answer, thread.after, work);
    if (typing) this.run.focus({preventScroll: true}); // so that keys are shortcuts
  }

  close() {
    this.live?.close();
    this.approvals?.close();
    this.thread?.close();
  }
}

function addressOf(runId) {
  return `#/ask/${encodeURIComponent(runId)}`;
}

function noDocuments() {
  return empty(t("No documents yet"), t("Your key has no access to a collection. Ask the owner of the service for one."));
}

/** The live progress: the supervisor, its attempts, their steps, and the agents of each step. */
function workView(live) {
  const {model, over} = live;
  const base = `#/runs/${encodeURIComponent(live.id)}`;
  const attempts = model.attempts.map((attempt) => h("li", {class: "attempt"},
    h("div", {class: "line"}, h("strong", {}, t("Attempt {number}", {number: attempt.number})), h("span", {class: "doing"}, attempt.diagnosis || attempt.plan?.goal)),
    h("ol", {}, [...attempt.steps.values()].map((step) => stepLine(step, over || attempt.number < model.attempts.length, base)))));
  return [
    h("div", {class: "line head"}, h("h2", {}, t("Progress")), h("a", {href: base}, t("Full trace"))),
    waiting(live),
    h("ol", {class: "tree"},
      h("li", {class: "supervisor"},
        h("div", {class: "line"}, h("strong", {}, t("Supervisor")), h("span", {class: "doing"}, supervisorStatus(model, over))),
        attempts.length > 0 && h("ol", {}, attempts))),
  ];
}

function supervisorStatus(model, over) {
  const last = model.panel.events.filter(({body}) => !["searched", "model_asked", "model_called"].includes(body.type)).at(-1);
  if (!last || last.body.type === "run_started") return over ? "" : t("understanding the question and planning");
  return shorten(eventLine(last), 180);
}

function stepLine(step, over, base) {
  const status = statusOf(step, over);
  const agents = agentsOf(step);
  return h("li", {class: `step is-${status.replace(" ", "-")}`},
    h("div", {class: "line"}, badge(status),
      h("a", {href: `${base}/steps/${encodeURIComponent(step.key)}`, "data-key": step.key}, step.id),
      h("span", {class: "doing"}, shorten(step.instruction, 120)),
      step.calls.length > 0 && h("span", {class: "note"}, plural(step.calls.length, "model call"))),
    h("ol", {}, agents.map((agent) => h("li", {class: "agent"},
      h("div", {class: "line"}, h("span", {}, agent), h("span", {class: "doing"}, lastAction(step, agent)))))));
}

/** The last event of an agent in a step. */
function lastAction(step, agent) {
  const own = step.events.filter(({body}) => (body.agent ?? body.caller ?? agent) === agent);
  const last = own.at(-1);
  if (!last) return "";
  if (last.body.type === "step_started") return t("running");
  if (last.body.type === "reasoning_shared") return shorten(last.body.reasoning, 200);
  return shorten(eventLine(last), 200);
}
