/* The form to ask a question. */

import {modelOptions} from "./agent-forms.js";
import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";

const MODES = [["auto", "Automatic"], ["fast", "Fast: one search, one answer"], ["high", "High: planned research"]];
const asked = {question: "", collection: "", mode: "auto", model: "", samples: "", session: ""}; // the last request, to prefill the form

export function askForm(collections, agents, endpoints, plans) {
  const option = (value, label, chosen) => h("option", {value, selected: value === chosen}, label);
  const question = h("textarea", {
    id: "question", name: "question", rows: 3, required: true, "data-slash": true,
    placeholder: "What do you want to know from your documents?",
    on: {keydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && element.requestSubmit()},
  });
  question.value = asked.question;
  const errorBox = h("div", {});
  const submit = h("button", {type: "submit", class: "main"}, "Ask");
  const element = h("form", {class: "ask", on: {submit: (event) => {
    event.preventDefault();
    send(new FormData(element), submit, errorBox);
  }}},
  h("label", {for: "question", class: "hidden"}, "Question"), question,
  h("div", {class: "choices"},
    h("label", {}, "Collection", h("select", {name: "collection"}, collections.map(({name}) => option(name, name, asked.collection)))),
    h("label", {}, "Mode", h("select", {name: "mode"},
      MODES.map(([value, label]) => option(value, label, asked.mode)),
      h("optgroup", {label: "One agent only"}, agents.filter((agent) => agent.direct).map(({name}) => option(`agent:${name}`, name, asked.mode))),
      plans.length > 0 && h("optgroup", {label: "Saved plan"}, plans.map(({name}) => option(`plan:${name}`, name, asked.mode))))),
    endpoints.length > 1 && h("label", {}, "Model", h("select", {name: "model"}, modelOptions(endpoints).map(([value, label]) => option(value, label, asked.model)))),
    h("label", {}, "Samples", h("input", {name: "samples", type: "number", min: 1, max: 32, placeholder: "default", value: asked.samples, title: "Number of answers to generate and vote on"})),
    submit),
  h("label", {class: "check"}, h("input", {name: "continue_session", type: "checkbox", checked: asked.session !== ""}),
    "Continue the conversation: earlier questions complete this one"),
  errorBox);
  return element;
}

async function send(given, submit, errorBox) {
  Object.assign(asked, Object.fromEntries(given));
  asked.session = given.has("continue_session") ? asked.session || crypto.randomUUID() : "";
  const [kind] = asked.mode.split(":");
  const name = asked.mode.slice(kind.length + 1);
  submit.disabled = true;
  errorBox.replaceChildren();
  try {
    const {run_id: runId} = await api.ask({
      collection: asked.collection, question: asked.question, model: asked.model, session: asked.session,
      mode: kind === "agent" ? "direct" : kind === "plan" ? "auto" : kind,
      agent: kind === "agent" ? name : "", template: kind === "plan" ? name : "",
      samples: asked.samples ? Number(asked.samples) : null,
    });
    location.hash = `#/ask/${encodeURIComponent(runId)}`;
  } catch (error) {
    errorBox.replaceChildren(failure(error));
  } finally {
    submit.disabled = false;
  }
}
