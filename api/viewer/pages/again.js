/* Asking an earlier question again: fills the form with the question and its options, and shows it. */

import * as api from "../lib/api.js";
import {failure, loading} from "../lib/dom.js";
import {fillForm} from "../parts/ask-form.js";
import {t} from "../lib/i18n.js";

export function showAgain(container, runId) {
  let closed = false;
  container.append(loading(t("Loading the question")));
  load(runId).then(({run, request, question}) => {
    if (closed) return;
    fillForm({...request, question}, run.collection);
    location.replace("#/");
  }).catch((error) => {
    if (!closed) container.replaceChildren(failure(error));
  });
  return {close: () => { closed = true; }};
}

/** Return the run, its request, and its question as completed from the conversation. */
async function load(runId) {
  const [{run, answer}, events] = await Promise.all([api.run(runId), api.events(runId)]);
  const started = events.find(({body}) => body.type === "run_started");
  const request = started?.body.request ?? {};
  return {run, request, question: answer?.completed_question || run.question};
}
