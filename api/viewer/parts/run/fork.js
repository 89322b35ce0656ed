/* The form that forks a run. A fork repeats the run from a step with another instruction, model, prompt, evidence or plan. */

import * as api from "../../lib/api.js";
import {fold, h} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {pages} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";
import {modelOptions} from "../agent-forms.js";
import {choice, field, textarea, tryAction} from "../forms.js";

/** The form for repeating the run from this step of its plan. */
export function forkForm(runId, step) {
  return fold(`fork ${step.key}`, t("Fork from this step"), async () => {
    const [endpoints, options] = await Promise.all([api.endpoints(), api.forkOptions(runId, step.id)]);
    const instruction = textarea("instruction", step.instruction, 4);
    const model = choice("model", [["", t("as before")], ...modelOptions(endpoints.filter(({name}) => name))]);
    const prompts = promptFields(options.prompts, step.key);
    const evidence = evidenceField(options.evidence, step.key);
    const plan = planField(options.plan, step.key);
    const errorBox = h("div", {role: "status"});
    const button = h("button", {type: "submit", class: "main"}, t("Fork"));
    return h("form", {class: "card", on: {submit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      await tryAction(errorBox, async () => {
        const changed = instruction.value === step.instruction ? {} : {instruction: instruction.value};
        const change = {step: step.id, model: model.value, ...changed, ...prompts.change(), ...evidence.change(), ...plan.change()};
        const {run_id: fork} = await api.forkRun(runId, change);
        location.hash = `#/runs/${encodeURIComponent(fork)}`;
      });
      button.disabled = false;
    }}},
    h("p", {class: "note"}, t("Earlier steps are read from the journal and cost nothing. This run stays unchanged.")),
    field(t("Instruction"), instruction), field(t("Model"), model), prompts.element, evidence.element, plan.element, errorBox, button);
  });
}

function promptFields(prompts, key) {
  const inputs = Object.entries(prompts).map(([agent, text]) => [agent, text, textarea(`prompt ${agent}`, text, 12, {class: "code"})]);
  return {
    element: inputs.map(([agent, , input]) => fold(`fork ${key} prompt ${agent}`, t("Prompt of {agent}", {agent}), () => field(t("Prompt of {agent}", {agent}), input, t("Use the same placeholders.")))),
    change: () => {
      const changed = Object.fromEntries(inputs.filter(([, text, input]) => input.value !== text).map(([agent, , input]) => [agent, input.value]));
      return Object.keys(changed).length > 0 ? {prompts: changed} : {};
    },
  };
}

function evidenceField(evidence, key) {
  const boxes = evidence.map(({number}) => h("input", {type: "checkbox", checked: true, value: number}));
  return {
    element: evidence.length > 0 && fold(`fork ${key} evidence`, t("Evidence ({count})", {count: evidence.length}), () => h("fieldset", {}, h("legend", {class: "note"}, t("Evidence that this step and later ones may use")),
      evidence.map((each, at) => h("label", {class: "check"}, boxes[at], h("span", {}, `[${each.number}] ${[each.name, pages(each.pages, each.printed_pages)].filter(Boolean).join(" ")}: `, h("span", {class: "text"}, each.quote)))))),
    change: () => (boxes.every((box) => box.checked) ? {} : {evidence: boxes.filter((box) => box.checked).map((box) => Number(box.value))}),
  };
}

function planField(plan, key) {
  const text = JSON.stringify(plan, null, 2);
  const input = textarea("plan", text, 16, {class: "code", spellcheck: false});
  return {
    element: fold(`fork ${key} plan`, t("Plan"), () => field(t("Plan as JSON"), input, t("Steps that ran before this step must stay the same."))),
    change: () => (input.value === text ? {} : {plan: parsed(input.value)}),
  };
}

/** Return the plan. Throws a RequestError for text that is no JSON, so that the form shows it. */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RequestError(t("The plan is not valid JSON: {message}", {message: error.message}), t("Invalid plan"), t("Correct it, then try again."));
  }
}
