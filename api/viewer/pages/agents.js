/* Agents and skills. Owners can change them. */

import * as api from "../lib/api.js";
import {agentForm, modelOptions, skillForm} from "../parts/agent-forms.js";
import {badge, failure, fold, h, loading, replace} from "../lib/dom.js";
import {choice, confirmButton, tryAction} from "../parts/forms.js";
import {owner} from "../lib/session.js";
import {value} from "../parts/tables.js";

export function showAgents(container) {
  const view = new AgentsView(container);
  return {close: () => { view.closed = true; }};
}

class AgentsView {
  constructor(container) {
    this.closed = false; this.agents = []; this.skills = []; this.endpoints = []; this.tools = [];
    this.errorBox = h("div", {});
    this.list = h("div", {}, loading());
    container.append(h("h1", {}, "Agents"), this.errorBox, this.list);
    this.load();
  }

  async load() {
    try {
      [this.agents, this.skills, this.endpoints, this.tools] = await Promise.all([api.agents(), api.skills(), api.endpoints(), api.tools()]);
      if (!this.closed) this.draw();
    } catch (error) {
      this.list.replaceChildren(failure(error, () => this.load()));
    }
  }

  /** Run a change and reload. Returns whether it succeeded. */
  change(act) {
    return tryAction(this.errorBox, async () => {
      await act();
      await this.load();
    });
  }

  draw() {
    const editable = owner();
    replace(this.list,
      editable && fold("new agent", "Add an agent", () => agentForm(this, null)),
      h("ul", {class: "cards"}, this.agents.map((agent) => h("li", {}, this.card(agent)))),
      h("section", {}, h("h2", {}, "Skills"),
        h("p", {class: "note"}, "Instructions that can be added to agents."),
        editable && fold("new skill", "Add a skill", () => skillForm(this, null)),
        h("ul", {class: "cards"}, this.skills.map((skill) => h("li", {}, this.skill(skill))))));
  }

  card(agent) {
    const part = (title, it) => it.length > 0 && [h("dt", {}, title), h("dd", {}, it.join(", "))];
    const changeable = owner() && !agent.file;
    return [
      h("div", {class: "line"}, h("strong", {}, agent.name), h("span", {class: "note"}, agent.origin),
        !agent.enabled && badge("disabled"), agent.direct && h("span", {class: "note"}, "can be asked directly"),
        changeable && h("button", {type: "button", class: "quiet end", "data-key": `enable ${agent.name}`, on: {click: () => this.update(agent, {enabled: !agent.enabled})}}, agent.enabled ? "Disable" : "Enable")),
      h("p", {class: "text"}, agent.description),
      changeable && agent.custom && fold(`edit ${agent.name}`, "Edit", () => [
        agentForm(this, agent.custom), confirmButton("Remove", `remove ${agent.name}`, () => this.change(() => api.removeAgent(agent.name)))]),
      fold(`agent ${agent.name}`, "Details", () => [
        changeable && this.choices(agent),
        h("dl", {class: "fields"}, part("capabilities", agent.capabilities), part("requires", agent.requires), part("reads", agent.reads), part("writes", agent.writes), part("listens to", agent.listens_to), part("tools", agent.tools), part("skills", agent.skills)),
        h("h3", {}, "Inputs"), value(agent.inputs.properties ?? {}, `${agent.name} inputs`),
        h("h3", {}, "Outputs"), value(agent.outputs.properties ?? {}, `${agent.name} outputs`),
        agent.file && h("p", {class: "note"}, "Defined in the file ", h("code", {}, agent.file), ". Edit it there."),
      ]),
    ];
  }

  update(agent, changes) {
    return this.change(() => api.changeAgent(agent.name, changes));
  }

  /** Controls for the model and the skills of an agent. */
  choices(agent) {
    const models = choice("model", modelOptions(this.endpoints), agent.model);
    models.addEventListener("change", () => this.update(agent, {model: models.value}));
    const chosen = () => boxes.filter((box) => box.checked).map((box) => box.value);
    const boxes = this.skills.map(({name}) => h("input", {
      type: "checkbox", value: name, checked: agent.skills.includes(name), "data-key": `${agent.name} ${name}`,
      on: {change: () => this.update(agent, {skills: chosen()})},
    }));
    return h("div", {class: "inline"},
      this.endpoints.length > 1 && h("label", {class: "check"}, "Model", models),
      boxes.map((box) => h("label", {class: "check"}, box, box.value)));
  }

  skill(skill) {
    return [
      h("p", {class: "line"}, h("strong", {}, skill.name), h("span", {class: "note"}, skill.description)),
      fold(`skill ${skill.name}`, "Instructions", () => [
        h("p", {class: "text"}, skill.instructions), skill.tools.length > 0 && h("p", {class: "note"}, `Tools: ${skill.tools.join(", ")}`)]),
      owner() && !skill.file && fold(`edit skill ${skill.name}`, "Edit", () => [
        skillForm(this, skill), confirmButton("Remove", `remove skill ${skill.name}`, () => this.change(() => api.removeSkill(skill.name)))]),
    ];
  }
}
