/* The conversation of a run, with the questions before and after it and the field for the next question. */

import * as api from "../lib/api.js";
import {badge, failure, h} from "../lib/dom.js";
import {Unreachable} from "../lib/errors.js";
import {send} from "./ask/send.js";
import {t} from "../lib/i18n.js";

const DONE = "answered";

/** `before` belongs above the run, `after` below its answer. `page`: "ask" or "runs", where the questions link to. */
export class Thread {
  constructor(runId, page, onEarlier = () => {}) {
    this.runId = runId; this.page = page; this.onEarlier = onEarlier; this.closed = false; this.form = null;
    this.before = h("div", {class: "thread"});
    this.later = h("div", {class: "thread"});
    this.further = h("div", {});
    this.after = h("div", {}, this.later, this.further);
    this.load();
  }

  close() {
    this.closed = true;
  }

  /** Show the field when the run has ended with an answer to ask about. */
  update(live) {
    if (!live.answer || this.form || live.answer.status === "failed") return;
    this.form = furtherForm(live, this.page === "ask");
    this.further.replaceChildren(this.form);
  }

  async load() {
    try {
      const {earlier, later} = await api.conversation(this.runId);
      if (this.closed) return;
      this.before.replaceChildren(...turns(t("Earlier in this conversation"), earlier, this.page));
      this.later.replaceChildren(...turns(t("Asked further"), later, this.page));
      if (earlier.length) this.onEarlier();
    } catch (error) {
      if (this.closed) return;
      if (error instanceof Unreachable) api.online().then(() => this.load());
      else if (error.status !== 404) this.before.replaceChildren(failure(error, () => this.load())); // the run reports a 404
    }
  }
}

function turns(title, conversation, page) {
  if (!conversation.length) return [];
  return [h("section", {"aria-label": title}, h("h2", {}, title), h("ol", {}, conversation.map((turn) => turnView(turn, page))))];
}

function turnView({run_id: runId, status, question, completed_question: completed, answer}, page) {
  return h("li", {},
    h("p", {class: "question"}, runId ? h("a", {href: `#/${page}/${encodeURIComponent(runId)}`}, question) : question,
      runId && status !== DONE && [" ", badge(status)]),
    completed && completed !== question && h("p", {class: "note"}, `${t("Understood as:")} `, h("q", {}, completed)),
    answer && h("p", {class: "said"}, answer));
}

/** The form that asks the next question, of the same collection and with the same options. `slash`: a key focuses it. */
function furtherForm(live, slash) {
  const question = h("textarea", {
    name: "question", rows: 2, required: true, "data-slash": slash, placeholder: t("A question about this answer, such as: And in winter?"),
    on: {keydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.requestSubmit()},
  });
  const errorBox = h("div", {});
  const submit = h("button", {type: "submit", class: "main"}, t("Ask"));
  const form = h("form", {class: "further", on: {submit: (event) => {
    event.preventDefault();
    send(() => nextRequest(live, question.value), submit, errorBox);
  }}},
  h("label", {}, t("Ask further"), question),
  h("div", {class: "line"}, h("span", {class: "note"}, t("The conversation completes the question. Asks {collection}, with the same options.", {collection: live.collection})), submit),
  errorBox);
  return form;
}

/** Ask the question of a candidate, after a run that asked back. */
export async function choose(live, candidate) {
  const {run_id: runId} = await api.ask({...nextRequest(live, candidate.question), complete: true});
  location.hash = `#/ask/${encodeURIComponent(runId)}`;
}

/** Return the request for the next question. A saved plan applies only to the question for which it was chosen. */
export function nextRequest(live, question) {
  const {conversation, session, complete, template, inputs, today, budget, ...options} = live.model.started?.request ?? {};
  return {...options, collection: live.collection, question, continues: live.id};
}
