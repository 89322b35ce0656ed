/* The form to save the plan of a run for other questions. */

import * as api from "../../lib/api.js";
import {fold, h} from "../../lib/dom.js";
import {field, tryAction} from "../forms.js";

export function planSaver(runId) {
  return fold(`save ${runId}`, "Save this plan", () => {
    const status = h("div", {role: "status"});
    const name = h("input", {name: "name", required: true, maxlength: 100});
    const form = h("form", {class: "card", on: {submit: async (event) => {
      event.preventDefault();
      if (await tryAction(status, () => api.savePlan(name.value.trim(), runId))) {
        status.replaceChildren(h("p", {class: "note"}, "Saved. Choose it as the mode of a question."));
      }
    }}}, field("Name", name), status, h("button", {type: "submit", class: "main"}, "Save"));
    return form;
  });
}
