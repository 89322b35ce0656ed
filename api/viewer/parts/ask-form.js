/* The form in which a question is asked. */

import {modelOptions} from "./agent-forms.js";
import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";

const WAYS = [["auto", "As the question needs"], ["fast", "Fast: one search, one answer"], ["high", "High: the whole panel"]];
const asked = {question: "", collection: "", way: "auto", model: "", samples: "", session: ""}; // what was asked last, for the next time

/** What can be asked, of which collection, and how. */
export function askForm(collections, agents, endpoints, plans) {
  const option = (value, label, chosen) => h("option", {value, selected: value === chosen}, label);
  const question = h("textarea", {
    id: "question", name: "question", rows: 3, required: true, "data-slash": true,
    placeholder: "What do you want to know from your documents?",
    on: {keydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && element.requestSubmit()},
  });
  question.value = asked.question;
  const trouble = h("div", {});
  const submit = h("button", {type: "submit", class: "main"}, "Ask");
  const element = h("form", {class: "ask", on: {submit: (event) => {
    event.preventDefault();
    send(new FormData(element), submit, trouble);
  }}},
  h("label", {for: "question", class: "hidden"}, "Question"), question,
  h("div", {class: "choices"},
    h("label", {}, "Collection", h("select", {name: "collection"}, collections.map(({name}) => option(name, name, asked.collection)))),
    h("label", {}, "How", h("select", {name: "way"},
      WAYS.map(([value, label]) => option(value, label, asked.way)),
      h("optgroup", {label: "One agent alone"}, agents.filter((agent) => agent.direct).map(({name}) => option(`agent:${name}`, name, asked.way))),
      plans.length > 0 && h("optgroup", {label: "By a saved plan"}, plans.map(({name}) => option(`plan:${name}`, name, asked.way))))),
    endpoints.length > 1 && h("label", {}, "Model", h("select", {name: "model"}, modelOptions(endpoints).map(([value, label]) => option(value, label, asked.model)))),
    h("label", {}, "Samples", h("input", {name: "samples", type: "number", min: 1, max: 32, placeholder: "as set", value: asked.samples, title: "How often the answer is written, to take a vote"})),
    submit),
  h("label", {class: "check"}, h("input", {name: "going_on", type: "checkbox", checked: asked.session !== ""}),
    "Go on with the conversation: the planner is told what was asked before"),
  trouble);
  return element;
}

async function send(given, submit, trouble) {
  Object.assign(asked, Object.fromEntries(given));
  asked.session = given.has("going_on") ? asked.session || crypto.randomUUID() : "";
  const [kind] = asked.way.split(":");
  const name = asked.way.slice(kind.length + 1);
  submit.disabled = true;
  trouble.replaceChildren();
  try {
    const {run_id: runId} = await api.ask({
      collection: asked.collection, question: asked.question, model: asked.model, session: asked.session,
      mode: kind === "agent" ? "direct" : kind === "plan" ? "auto" : kind,
      agent: kind === "agent" ? name : "", template: kind === "plan" ? name : "",
      samples: asked.samples ? Number(asked.samples) : null,
    });
    location.hash = `#/ask/${encodeURIComponent(runId)}`;
  } catch (error) {
    trouble.replaceChildren(failure(error));
  } finally {
    submit.disabled = false;
  }
}
