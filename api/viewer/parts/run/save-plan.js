/* The form to save the plan of a run as a template: the model proposes it, and the person edits it. */

import * as api from "../../lib/api.js";
import {fold, h, loading} from "../../lib/dom.js";
import {field, tryAction} from "../forms.js";
import {planForm, planView} from "../plans.js";
import {t} from "../../lib/i18n.js";

export function planSaver(runId) {
  return fold(`save ${runId}`, t("Save this plan"), () => {
    const errorBox = h("div", {role: "status"});
    const proposed = h("div", {});
    const keep = h("input", {type: "checkbox", name: "keep_documents"});
    const button = h("button", {type: "submit", class: "main"}, t("Propose a template"));
    const form = h("form", {class: "card", on: {submit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      proposed.replaceChildren(loading(t("Asking the model for a template")));
      const made = await tryAction(errorBox, async () => {
        proposed.replaceChildren(...proposalView(await api.proposePlan(runId, keep.checked), keep.checked));
      });
      if (!made) proposed.replaceChildren();
      button.disabled = false;
    }}},
    h("p", {class: "note"}, t("The model selects the words of the plan that belong to this question. They become @{question} or a parameter, so that other questions can follow the plan.")),
    h("label", {class: "check"}, keep, t("Keep the names of documents in the plan")), errorBox, button);
    return [form, proposed];
  });
}

function proposalView(proposal, keepDocuments) {
  const name = h("input", {name: "name", required: true, maxlength: 100});
  const form = planForm(proposal, t("Save"), async (content) => {
    await api.addPlan({...content, name: name.value.trim(), collection: proposal.collection});
    form.replaceChildren(h("p", {class: "note", role: "status"}, t("Saved. Choose it as the mode of a question.")));
  }, field(t("Name"), name));
  form.elements.keep_documents.checked = keepDocuments;
  return [
    h("div", {class: "proposal"}, planView(proposal.plan)),
    ...(proposal.faults.length ? [h("p", {class: "note"}, t("Correct these faults before you save it: {faults}", {faults: proposal.faults.join(" ")}))] : []),
    form,
  ];
}
