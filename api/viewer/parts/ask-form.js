/* The form to ask a question. */

import {modelOptions} from "./agent-forms.js";
import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";
import {passagesField, passagesFrom} from "./given-passages.js";

const MODES = [["auto", "Automatic"], ["fast", "Fast: one search, one answer"], ["high", "High: planned research"]];
const SOURCES = [["documents", "Documents"], ["web", "Web pages"], ["tools", "Results of tools"]];
const INPUT = "input:"; // before the name of a parameter
const asked = {
  question: "", collection: "", mode: "auto", model: "", samples: "", session: "", sources: null,
  passages: "", passages_form: "text", search: true,
}; // the last request, to prefill the form; no sources: those of the service

/** Fill the next form with a question, its options and its collection, as an earlier run has them. */
export function fillForm(request, collection) {
  const {agent, agents = [], template, inputs = {}, rag_results: passages = []} = request;
  const [mode] = [template && `plan:${template}`, agents.length && `agents:${agents.join(",")}`, agent && `agent:${agent}`, request.mode].filter(Boolean);
  const parameters = Object.fromEntries(Object.entries(inputs).map(([name, value]) => [`${INPUT}${name}`, value]));
  Object.assign(asked, parameters, {
    question: request.question, collection, mode: mode ?? "auto", model: request.model ?? "", samples: request.samples ?? "",
    session: "", sources: request.sources ?? null, search: request.search ?? true,
    passages: passages.map((each) => JSON.stringify(each)).join("\n"), passages_form: passages.length ? "json" : "text",
  });
}

/** `defaults`: what a question uses that does not choose it itself. */
export function askForm(collections, agents, endpoints, plans, defaults) {
  const option = (value, label, chosen) => h("option", {value, selected: value === chosen}, label);
  const question = h("textarea", {
    id: "question", name: "question", rows: 3, required: true, "data-slash": true,
    placeholder: "What do you want to know from your documents?",
    on: {keydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && element.requestSubmit()},
  });
  question.value = asked.question;
  const errorBox = h("div", {});
  const parameters = h("div", {class: "choices"});
  const submit = h("button", {type: "submit", class: "main"}, "Ask");
  const element = h("form", {class: "ask", on: {submit: (event) => {
    event.preventDefault();
    send(new FormData(element), submit, errorBox);
  }}},
  h("label", {for: "question", class: "hidden"}, "Question"), question,
  h("div", {class: "choices"},
    h("label", {}, "Collection", h("select", {name: "collection"}, collections.map(({name}) => option(name, name, asked.collection)))),
    h("label", {}, "Mode", h("select", {name: "mode", on: {change: ({currentTarget}) => showParameters(parameters, plans, currentTarget.value)}},
      MODES.map(([value, label]) => option(value, label, asked.mode)),
      h("optgroup", {label: "One agent only"}, agents.filter((agent) => agent.direct).map(({name}) => option(`agent:${name}`, name, asked.mode))),
      asked.mode.startsWith("agents:") && asked.mode !== "agents:@all" && option(asked.mode, `${asked.mode.slice("agents:".length).replaceAll(",", ", ")}, by vote`, asked.mode),
      agents.filter((agent) => agent.direct).length > 1 && option("agents:@all", "All agents that can answer alone, by vote", asked.mode),
      plans.length > 0 && h("optgroup", {label: "Saved plan"}, plans.map(({name}) => option(`plan:${name}`, name, asked.mode))))),
    endpoints.length > 1 && h("label", {}, "Model", h("select", {name: "model"}, modelOptions(endpoints).map(([value, label]) => option(value, label, asked.model)))),
    h("label", {}, "Samples", h("input", {name: "samples", type: "number", min: 1, max: 32, placeholder: "default", value: asked.samples, title: "Number of answers to generate and vote on"})),
    submit),
  parameters,
  h("label", {class: "check"}, h("input", {name: "continue_session", type: "checkbox", checked: asked.session !== ""}),
    "Continue the conversation: earlier questions complete this one"),
  h("fieldset", {class: "sources-allowed"}, h("legend", {}, "The answer may rest on"),
    SOURCES.map(([value, label]) => h("label", {class: "check"},
      h("input", {type: "checkbox", name: "sources", value, checked: (asked.sources ?? defaults.sources).includes(value)}), label))),
  passagesField(asked),
  errorBox);
  showParameters(parameters, plans, element.elements.mode.value);
  return element;
}

/** Show a field for each parameter of the chosen saved plan. */
function showParameters(container, plans, mode) {
  const chosen = plans.find(({name}) => mode === `plan:${name}`);
  container.replaceChildren(...(chosen?.plan.parameters ?? []).map(({name, meaning, default: value}) =>
    h("label", {title: meaning}, name, h("input", {name: `${INPUT}${name}`, value: asked[`${INPUT}${name}`] ?? "", placeholder: value || "from the question"}))));
}

function inputsFrom(given) {
  const fields = [...given].filter(([name, value]) => name.startsWith(INPUT) && value.trim());
  return Object.fromEntries(fields.map(([name, value]) => [name.slice(INPUT.length), value.trim()]));
}

async function send(given, submit, errorBox) {
  Object.assign(asked, Object.fromEntries(given));
  asked.sources = given.getAll("sources");
  asked.search = given.has("search");
  asked.session = given.has("continue_session") ? asked.session || crypto.randomUUID() : "";
  const [kind] = asked.mode.split(":");
  const name = asked.mode.slice(kind.length + 1);
  submit.disabled = true;
  errorBox.replaceChildren();
  try {
    if (!asked.sources.length) throw new RequestError("No source is chosen, so there is nothing to read.", "Nothing to answer from", "Choose what the answer may rest on.");
    const {run_id: runId} = await api.ask({
      collection: asked.collection, question: asked.question, model: asked.model, session: asked.session,
      mode: kind === "agent" || kind === "agents" ? "direct" : kind === "plan" ? "auto" : kind,
      agent: kind === "agent" ? name : "", agents: kind === "agents" ? name.split(",") : [], template: kind === "plan" ? name : "",
      inputs: kind === "plan" ? inputsFrom(given) : {},
      samples: asked.samples ? Number(asked.samples) : null,
      sources: asked.sources, rag_results: passagesFrom(asked), search: asked.search,
    });
    location.hash = `#/ask/${encodeURIComponent(runId)}`;
  } catch (error) {
    errorBox.replaceChildren(failure(error));
  } finally {
    submit.disabled = false;
  }
}
