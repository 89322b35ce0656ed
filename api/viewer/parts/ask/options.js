/* The options of a question, folded, with a summary of those that are set.

An option is {element, values, summary}: its fields; what they add to the request; what is set in words, "" if nothing. */

import {modelOptions} from "../agent-forms.js";
import * as api from "../../lib/api.js";
import {failure, h} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {plural} from "../../lib/format.js";
import {t, term} from "../../lib/i18n.js";

const MODES = [["auto", t("Automatic")], ["fast", t("Fast: one search, one answer")], ["high", t("High: planned research")]];
const SOURCES = [["documents", t("Documents"), t("documents")], ["web", t("Web pages"), t("web pages")], ["tools", t("Results of tools"), t("results of tools")]];
const chosen = {mode: "auto", model: "", samples: "", sources: null, inputs: {}}; // the last choice, kept between visits of the page; no sources: those of the service

/** Select the options of an earlier request. */
export function chooseOptions({mode = "auto", agent, agents = [], template, inputs = {}, model = "", samples, sources = null}) {
  const [way] = [template && `plan:${template}`, agents.length && `agents:${agents.join(",")}`, agent && `agent:${agent}`, mode].filter(Boolean);
  Object.assign(chosen, {mode: way, model, samples: samples ?? "", sources, inputs});
}

/** Return {element, values} of several options. */
export function optionFold(options) {
  const summary = h("summary", {});
  const describe = () => {
    const set = options.map((each) => each.summary()).filter(Boolean);
    summary.replaceChildren(t("Options: {set}", {set: set.join(" · ") || t("defaults")}));
  };
  const element = h("details", {class: "options", on: {input: describe, change: describe}}, summary,
    h("div", {class: "fold-body"}, options.map((each) => each.element)));
  element.addEventListener("toggle", () => { for (const each of options) each.opened?.(); }, {once: true});
  element.addEventListener("invalid", () => { element.open = true; }, true); // a closed fold hides why the form is not sent
  describe();
  return {element, values: () => Object.assign({}, ...options.map((each) => each.values()))};
}

/** The agents are loaded when the fold is first opened: their cards are the largest part of the first view. */
export function methodOption(endpoints, plans) {
  const alone = h("optgroup", {label: t("One agent only")});
  const unavailable = h("div", {});
  const loadAgents = async () => {
    try {
      const values = (await api.agents()).filter((agent) => agent.direct).map(({name}) => [`agent:${name}`, name]);
      if (values.length > 1) values.push(["agents:@all", t("All agents that can answer alone, by vote")]);
      const listed = [...alone.children].map((option) => option.value);
      alone.append(...values.filter(([value]) => !listed.includes(value)).map(entry("mode")));
      unavailable.replaceChildren();
    } catch (error) {
      unavailable.replaceChildren(failure(error, loadAgents));
    }
  };
  const parameters = h("div", {class: "choices"});
  const showParameters = () => parameters.replaceChildren(...parametersOf(plans, mode.value));
  const mode = h("select", {name: "mode", on: {change: () => { chosen.mode = mode.value; showParameters(); }}},
    MODES.map(entry("mode")),
    alone,
    plans.length > 0 && h("optgroup", {label: t("Saved plan")}, plans.map(({name}) => [`plan:${name}`, name]).map(entry("mode"))));
  const model = h("select", {name: "model", on: {change: () => { chosen.model = model.value; }}}, modelOptions(endpoints).map(entry("model")));
  const samples = h("input", {name: "samples", type: "number", min: 1, max: 32, placeholder: t("default"), value: chosen.samples,
    title: t("Number of answers to generate and vote on"), on: {input: () => { chosen.samples = samples.value; }}});
  if (chosen.mode.startsWith("agent")) alone.append(entry("mode")([chosen.mode, methodInWords(chosen.mode)]));
  showParameters();
  return {
    opened: loadAgents,
    element: [
      h("div", {class: "choices"}, h("label", {}, t("Mode"), mode), endpoints.length > 1 && h("label", {}, t("Model"), model), h("label", {}, t("Samples"), samples)),
      parameters, unavailable],
    values: () => ({...method(mode.value, parameters), model: model.value, samples: samples.value ? Number(samples.value) : null}),
    summary: () => [
      methodInWords(mode.value),
      model.value && t("model {model}", {model: model.value}),
      samples.value && plural(samples.value, "sample")].filter(Boolean).join(" · "),
  };
}

/** `defaults`: the sources of a question that names none. */
export function sourcesOption(defaults) {
  const checked = () => [...element.querySelectorAll(":checked")].map(({value}) => value);
  const boxes = SOURCES.map(([value, label]) => h("label", {class: "check"},
    h("input", {type: "checkbox", name: "sources", value, checked: (chosen.sources ?? defaults).includes(value)}), label));
  const element = h("fieldset", {class: "sources-allowed", on: {change: () => { chosen.sources = checked(); }}}, h("legend", {}, t("Sources of the answer")), boxes);
  return {
    element,
    values: () => {
      if (!checked().length) throw new RequestError(t("No source is chosen, so there is nothing to read."), t("No sources"), t("Choose at least one source of the answer."));
      return {sources: checked()};
    },
    summary: () => {
      const named = SOURCES.filter(([value]) => checked().includes(value)).map(([, , label]) => label);
      return named.length === defaults.length && checked().every((value) => defaults.includes(value)) ? "" : named.join(", ") || t("no source");
    },
  };
}

function entry(name) {
  return ([value, label]) => h("option", {value, selected: value === chosen[name]}, label);
}

/** A field for each parameter of the chosen saved plan. */
function parametersOf(plans, mode) {
  const plan = plans.find(({name}) => mode === `plan:${name}`);
  return (plan?.plan.parameters ?? []).map(({name, meaning, default: value}) =>
    h("label", {title: meaning}, name, h("input", {name: `input:${name}`, "data-parameter": name, value: chosen.inputs[name] ?? "", placeholder: value || t("from the question")})));
}

function kindAndName(value) {
  const [kind] = value.split(":");
  return [kind, value.slice(kind.length + 1)];
}

function severalNamed(value) {
  return value.startsWith("agents:") && value !== "agents:@all";
}

function methodInWords(value) {
  const [kind, name] = kindAndName(value);
  return {
    auto: "", agent: t("only {name}", {name}), plan: t("plan {name}", {name}),
    agents: t("{agents}, by vote", {agents: severalNamed(value) ? name.replaceAll(",", ", ") : t("all agents")}),
  }[kind] ?? t("mode {mode}", {mode: term(kind)});
}

function method(value, parameters) {
  const [kind, name] = kindAndName(value);
  if (kind === "agent") return {mode: "direct", agent: name};
  if (kind === "agents") return {mode: "direct", agents: name.split(",")};
  if (kind !== "plan") return {mode: kind};
  const given = [...parameters.querySelectorAll("input")].filter((input) => input.value.trim());
  return {mode: "auto", template: name, inputs: Object.fromEntries(given.map((input) => [input.dataset.parameter, input.value.trim()]))};
}
