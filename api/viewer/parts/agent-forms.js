/* The forms by which a person describes an agent, or a skill. */

import * as api from "../lib/api.js";
import {h} from "../lib/dom.js";
import {choice, field, textarea} from "./forms.js";

const PROMPT = "# System\nYou know …\n# User\n$question\n\nYour task: $instruction\n\n$evidence\n";
const GIVES = [["notes", "notes, for whoever writes the answer"], ["answer", "an answer, with quotes from the documents"]];

/** The models that can be named, as choices. */
export function modelOptions(endpoints) {
  return endpoints.map(({name, model}) => [name, `${name || "default"}: ${model}`]);
}

/** `view` shows agents and changes them; `agent` is a custom one that is to be edited, or null. */
export function agentForm(view, agent) {
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    const described = asDescribed(new FormData(form), agent);
    view.change(() => (agent ? api.editAgent(described) : api.addAgent(described)));
  }}},
  !agent && field("Name", h("input", {name: "name", required: true, pattern: "[A-Z][A-Za-z0-9]{1,39}", placeholder: "Lawyer"}), "begins with a capital; letters and digits"),
  field("Description", textarea("description", agent?.description ?? "", 2, {required: true}), "what it does and when to use it: the planner reads this"),
  field("Gives", choice("gives", GIVES, agent?.gives)),
  field("Capabilities", h("input", {name: "capabilities", value: agent?.capabilities.join(", ") ?? "", placeholder: "contracts, clauses"}), "in a few words each, with commas between"),
  field("Prompt", textarea("prompt", agent?.prompt ?? PROMPT, 10, {required: true, spellcheck: "false", class: "code"}), "a part # System, a part # User, and $placeholders for what it is shown"),
  field("Model", choice("model", modelOptions(view.endpoints), agent?.model)),
  toolBoxes(view.tools, agent?.tools ?? []),
  h("button", {type: "submit", class: "main"}, agent ? "Keep" : "Add"));
  return form;
}

/** Which tools are granted. One that is granted and is not there stays: its server may be away. */
function toolBoxes(tools, granted) {
  const named = new Map(tools.map((tool) => [tool.name, tool]));
  const names = [...new Set([...named.keys(), ...granted])];
  return names.length > 0 && h("fieldset", {class: "field"}, h("legend", {class: "note"}, "Tools"), names.map((name) => {
    const tool = named.get(name);
    const note = !tool ? "not there" : tool.unavailable || (tool.dangerous ? "a person approves each call" : "");
    return h("label", {class: "check", title: tool?.description}, h("input", {type: "checkbox", name: "tools", value: name, checked: granted.includes(name)}), name, note && h("span", {class: "note"}, note));
  }));
}

function asDescribed(given, agent) {
  return {
    ...agent,
    ...Object.fromEntries(["description", "gives", "prompt", "model"].map((name) => [name, given.get(name)])),
    name: agent?.name ?? given.get("name"),
    tools: given.getAll("tools"),
    capabilities: given.get("capabilities").split(",").map((each) => each.trim()).filter(Boolean),
  };
}

/** `skill` is one that is to be edited, or null. */
export function skillForm(view, skill) {
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    const given = new FormData(form);
    const described = {name: skill?.name ?? given.get("name"), description: given.get("description"), instructions: given.get("instructions"), tools: given.getAll("tools")};
    view.change(() => (skill ? api.editSkill(described) : api.addSkill(described)));
  }}},
  !skill && field("Name", h("input", {name: "name", required: true, pattern: "[a-z][a-z0-9\\-]{1,39}", placeholder: "plain-words"}), "small letters, digits and -"),
  field("Description", h("input", {name: "description", value: skill?.description ?? ""}), "what it is for, for people"),
  field("Instructions", textarea("instructions", skill?.instructions ?? "", 6, {required: true, class: "code"})),
  toolBoxes(view.tools, skill?.tools ?? []),
  h("button", {type: "submit", class: "main"}, skill ? "Keep" : "Add"));
  return form;
}
