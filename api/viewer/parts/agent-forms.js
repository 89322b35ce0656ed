/* Forms to add and edit agents and skills. */

import * as api from "../lib/api.js";
import {h} from "../lib/dom.js";
import {choice, field, textarea} from "./forms.js";
import {t} from "../lib/i18n.js";

const PROMPT = "# System\nYou know …\n# User\n$question\n\nYour task: $instruction\n\n$evidence\n";
const OUTPUTS = [["notes", t("Notes for the agent that writes the answer")], ["answer", t("An answer with quotes from the documents")], ["talk", t("Talk without claims, only if a person asks it")]];

/** The named model endpoints as options. */
export function modelOptions(endpoints) {
  return endpoints.map(({name, model}) => [name, `${name || t("default")}: ${model}`]);
}

/** `view`: the page, which runs the change; `agent`: the custom agent to edit, or null for a new one. */
export function agentForm(view, agent) {
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    const edited = agentFrom(new FormData(form), agent);
    view.change(() => (agent ? api.editAgent(edited) : api.addAgent(edited)));
  }}},
  !agent && field(t("Name"), h("input", {name: "name", required: true, pattern: "[A-Z][A-Za-z0-9]{1,39}", placeholder: t("Lawyer")}), t("Letters and digits, starting with a capital letter")),
  field(t("Description"), textarea("description", agent?.description ?? "", 2, {required: true}), t("What it does and when to use it. The planner reads this.")),
  field(t("Output"), choice("gives", OUTPUTS, agent?.gives)),
  field(t("Capabilities"), h("input", {name: "capabilities", value: agent?.capabilities.join(", ") ?? "", placeholder: t("contracts, clauses")}), t("Short phrases, separated by commas")),
  field(t("Prompt"), textarea("prompt", agent?.prompt ?? PROMPT, 10, {required: true, spellcheck: "false", class: "code"}), t("A # System part and a # User part, with $placeholders")),
  field(t("Listens to"), h("input", {name: "listens_to", value: agent?.listens_to.join(", ") ?? "", placeholder: "missing_reported, reasoning_shared:Extractor"}), t("Events of other agents that it reacts to, separated by commas")),
  field(t("Model"), choice("model", modelOptions(view.endpoints), agent?.model)),
  toolBoxes(view.tools, agent?.tools ?? []),
  h("label", {class: "check"}, h("input", {type: "checkbox", name: "reads_memory", checked: agent?.reads_memory ?? false}), t("Read memory: notes, tool use and plans that worked on similar questions")),
  h("button", {type: "submit", class: "main"}, agent ? t("Save") : t("Add")));
  return form;
}

/** Checkboxes for tools. A granted tool that is not available is kept: its server may be offline. */
function toolBoxes(tools, granted) {
  const named = new Map(tools.map((tool) => [tool.name, tool]));
  const names = [...new Set([...named.keys(), ...granted])];
  return names.length > 0 && h("fieldset", {class: "field"}, h("legend", {class: "note"}, t("Tools")), names.map((name) => {
    const tool = named.get(name);
    const note = !tool ? t("not available") : tool.unavailable || (tool.dangerous ? t("requires approval") : "");
    return h("label", {class: "check", title: tool?.description}, h("input", {type: "checkbox", name: "tools", value: name, checked: granted.includes(name)}), name, note && h("span", {class: "note"}, note));
  }));
}

function agentFrom(given, agent) {
  return {
    ...agent,
    ...Object.fromEntries(["description", "gives", "prompt", "model"].map((name) => [name, given.get(name)])),
    name: agent?.name ?? given.get("name"),
    tools: given.getAll("tools"),
    reads_memory: given.has("reads_memory"),
    capabilities: listed(given.get("capabilities")),
    listens_to: listed(given.get("listens_to")),
  };
}

function listed(text) {
  return text.split(",").map((each) => each.trim()).filter(Boolean);
}

/** `view`: the page, which runs the change; `skill`: the skill to edit, or null for a new one. */
export function skillForm(view, skill) {
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    const given = new FormData(form);
    const edited = {name: skill?.name ?? given.get("name"), description: given.get("description"), instructions: given.get("instructions"), tools: given.getAll("tools")};
    view.change(() => (skill ? api.editSkill(edited) : api.addSkill(edited)));
  }}},
  !skill && field(t("Name"), h("input", {name: "name", required: true, pattern: "[a-z][a-z0-9\\-]{1,39}", placeholder: "plain-words"}), t("Lowercase letters, digits and -")),
  field(t("Description"), h("input", {name: "description", value: skill?.description ?? ""}), t("Shown to people only")),
  field(t("Instructions"), textarea("instructions", skill?.instructions ?? "", 6, {required: true, class: "code"})),
  toolBoxes(view.tools, skill?.tools ?? []),
  h("button", {type: "submit", class: "main"}, skill ? t("Save") : t("Add")));
  return form;
}
