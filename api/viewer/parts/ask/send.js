/* Sending a question, after a check whether the model is reachable. */

import * as api from "../../lib/api.js";
import {failure, h} from "../../lib/dom.js";
import {checkModel} from "../../lib/model-state.js";
import {t} from "../../lib/i18n.js";

/** Send what `request` returns, and show its run; it throws RequestError if a field is wrong. `unchecked`: without the check. */
export async function send(request, submit, errorBox, unchecked = false) {
  submit.disabled = true;
  errorBox.replaceChildren();
  try {
    const wanted = request();
    const state = !wanted.model && !unchecked && await checkModel();
    if (state && !state.reachable) {
      errorBox.replaceChildren(modelDown(state, wanted, () => send(request, submit, errorBox, true)));
      return;
    }
    const {run_id: runId} = await api.ask(wanted);
    location.hash = `#/ask/${encodeURIComponent(runId)}`;
  } catch (error) {
    errorBox.replaceChildren(failure(error));
  } finally {
    submit.disabled = false;
  }
}

/** Why the question was not sent, what to do, and the search that needs no model. */
function modelDown({model, checks}, {collection, question}, anyway) {
  return h("div", {class: "failure", role: "alert"},
    h("strong", {}, t("The model is not reachable")),
    h("p", {}, t("The question was not sent, because {model} cannot be asked now.", {model})),
    checks.length ? checks.filter(({ok}) => !ok).map(({detail, remedy}) => h("p", {}, [detail, remedy].filter(Boolean).join(": "))) : h("p", {}, t("Ask the owner of the service to start it.")),
    h("p", {class: "answers"}, h("a", {class: "button", href: `#/search/${encodeURIComponent(collection)}/${encodeURIComponent(question)}`}, t("Search without a model")), " ",
      h("button", {type: "button", on: {click: anyway}}, t("Ask anyway"))));
}
