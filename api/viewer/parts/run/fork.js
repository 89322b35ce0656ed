/* The form that forks a run. A fork repeats the run from a step with another instruction or model. */

import * as api from "../../lib/api.js";
import {fold, h} from "../../lib/dom.js";
import {modelOptions} from "../agent-forms.js";
import {choice, field, textarea, tryAction} from "../forms.js";

/** The form for repeating the run from this step of its plan. */
export function forkForm(runId, step) {
  return fold(`fork ${step.key}`, "Fork from this step", async () => {
    const endpoints = await api.endpoints();
    const instruction = textarea("instruction", step.instruction, 4);
    const model = choice("model", [["", "as before"], ...modelOptions(endpoints.filter(({name}) => name))]);
    const errorBox = h("div", {role: "status"});
    const button = h("button", {type: "submit", class: "main"}, "Fork");
    return h("form", {class: "card", on: {submit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      const changed = instruction.value === step.instruction ? {} : {instruction: instruction.value};
      await tryAction(errorBox, async () => {
        const {run_id: fork} = await api.forkRun(runId, {step: step.id, model: model.value, ...changed});
        location.hash = `#/runs/${encodeURIComponent(fork)}`;
      });
      button.disabled = false;
    }}},
    h("p", {class: "note"}, "Earlier steps are read from the journal and cost nothing. This run stays unchanged."),
    field("Instruction", instruction), field("Model", model), errorBox, button);
  });
}
