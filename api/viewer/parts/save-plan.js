/* Keeping the plan of a run, so that other questions can be asked in the same way. */

import * as api from "../lib/api.js";
import {fold, h} from "../lib/dom.js";
import {attempt, field} from "./forms.js";

export function planSaver(runId) {
  return fold(`save ${runId}`, "Save this plan, to follow it again", () => {
    const said = h("div", {role: "status"});
    const name = h("input", {name: "name", required: true, maxlength: 100});
    const form = h("form", {class: "card", on: {submit: async (event) => {
      event.preventDefault();
      if (await attempt(said, () => api.savePlan(name.value.trim(), runId))) {
        said.replaceChildren(h("p", {class: "note"}, "It is saved: a question can be asked by it from now on."));
      }
    }}}, field("Name", name), said, h("button", {type: "submit", class: "main"}, "Save"));
    return form;
  });
}
