/* Saved plans: their steps, and the form to edit one as text. */

import * as api from "../lib/api.js";
import {h} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";
import {saveFile} from "../lib/save-file.js";
import {field, textarea, tryAction} from "./forms.js";
import {t} from "../lib/i18n.js";

/** The parameters and steps of a plan. */
export function planView(plan) {
  return [
    plan.parameters.length > 0 && h("ul", {class: "parameters"}, plan.parameters.map(({name, meaning, default: value}) =>
      h("li", {}, h("code", {}, `@{inputs.${name}}`), ` ${meaning}`, value && h("span", {class: "note"}, ` ${t("(default: {value})", {value})}`)))),
    h("ol", {}, plan.steps.map((step) =>
      h("li", {}, h("strong", {}, step.id), ` ${step.agents.join(", ")}: ${step.instruction}`, inputsOf(step)))),
  ];
}

function inputsOf(step) {
  const said = Object.entries(step.inputs).filter(([, value]) => value.length !== 0 && value !== step.instruction);
  return said.length > 0 && h("ul", {class: "note"}, said.map(([name, value]) =>
    h("li", {}, `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`)));
}

/** A form to edit a plan as JSON text. `save` gets {question, plan, keep_documents} and may fail; its error is shown. */
export function planForm({question, plan}, label, save, ...more) {
  const errorBox = h("div", {role: "status"});
  const keeps = h("input", {type: "checkbox", name: "keep_documents"});
  const text = textarea("plan", JSON.stringify(plan, withoutDefaults, 2), 16, {required: true, spellcheck: "false", class: "code"});
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    tryAction(errorBox, () => save({question, plan: parse(text.value), keep_documents: keeps.checked}, new FormData(form)));
  }}},
  ...more,
  field(t("Template"), text, t("Write @{question} for the question, and @{inputs.NAME} for a parameter with this name")),
  h("label", {class: "check"}, keeps, t("Keep the names of documents in the plan")),
  errorBox, h("button", {type: "submit", class: "main"}, label));
  return form;
}

function withoutDefaults(key, value) {
  const unset = value === "" && key === "why" || value === null && key === "default" || value === false && key === "final";
  return unset ? undefined : value;
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new RequestError(error.message, t("The text is not valid JSON"), t("Correct it, then save again."));
  }
}

/** A button that downloads a saved plan. */
export function exportButton(name, errorBox) {
  return h("button", {type: "button", class: "quiet", "data-key": `export ${name}`, on: {click: () => tryAction(errorBox, async () => {
    const content = new Blob([`${JSON.stringify(await api.exportPlan(name), null, 2)}\n`], {type: "application/json"});
    saveFile({name: `${name}.json`, content});
  })}}, t("Export"));
}

/** A form to import the file of a plan. `change` runs the import. */
export function importForm(change) {
  const file = h("input", {type: "file", name: "file", accept: ".json,application/json", required: true});
  const keep = h("input", {type: "checkbox", name: "keep_documents"});
  return h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    change(async () => api.addPlan({...parse(await file.files[0].text()), keep_documents: keep.checked}));
  }}}, field(t("File"), file, t("A file that Candor exported")), h("label", {class: "check"}, keep, t("Keep the names of documents in the plan")),
  h("button", {type: "submit", class: "main"}, t("Import")));
}
