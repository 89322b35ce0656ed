/* Agents and skills. Owners can change them. */

import * as api from "../lib/api.js";
import {agentForm, modelOptions, skillForm} from "../parts/agent-forms.js";
import {badge, failure, fold, h, loading, replace} from "../lib/dom.js";
import {choice, confirmButton, tryAction} from "../parts/forms.js";
import {owner} from "../lib/session.js";
import {value} from "../parts/tables.js";
import {phrase, t, term} from "../lib/i18n.js";

export function showAgents(container) {
  const view = new AgentsView(container);
  return {close: () => { view.closed = true; }};
}

class AgentsView {
  constructor(container) {
    this.closed = false; this.agents = []; this.skills = []; this.endpoints = []; this.tools = [];
    this.errorBox = h("div", {});
    this.list = h("div", {}, loading());
    container.append(h("h1", {}, t("Agents")), this.errorBox, this.list);
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
      editable && fold("new agent", t("Add an agent"), () => agentForm(this, null)),
      h("ul", {class: "cards"}, this.agents.map((agent) => h("li", {}, this.card(agent)))),
      h("section", {}, h("h2", {}, t("Skills")),
        h("p", {class: "note"}, t("Instructions that can be added to agents.")),
        editable && fold("new skill", t("Add a skill"), () => skillForm(this, null)),
        h("ul", {class: "cards"}, this.skills.map((skill) => h("li", {}, this.skill(skill))))));
  }

  card(agent) {
    const part = (title, it) => it.length > 0 && [h("dt", {}, title), h("dd", {}, it.join(", "))];
    const changeable = owner() && !agent.file;
    return [
      h("div", {class: "line"}, h("strong", {}, agent.name), h("span", {class: "note"}, term(agent.origin)),
        !agent.enabled && badge("disabled"), agent.direct && h("span", {class: "note"}, t("can be asked directly")),
        changeable && h("button", {type: "button", class: "quiet end", "data-key": `enable ${agent.name}`, on: {click: () => this.update(agent, {enabled: !agent.enabled})}}, agent.enabled ? t("Disable") : t("Enable"))),
      h("p", {class: "text"}, agent.description),
      changeable && agent.custom && fold(`edit ${agent.name}`, t("Edit"), () => [
        agentForm(this, agent.custom), confirmButton(t("Remove"), `remove ${agent.name}`, () => this.change(() => api.removeAgent(agent.name)))]),
      fold(`agent ${agent.name}`, t("Details"), () => [
        changeable && this.choices(agent),
        h("dl", {class: "fields"}, part(t("capabilities"), agent.capabilities), part(t("requires"), agent.requires), part(t("reads"), agent.reads), part(t("writes"), agent.writes), part(t("listens to"), agent.listens_to), part(t("tools"), agent.tools), part(t("skills"), agent.skills)),
        h("h3", {}, t("Inputs")), value(agent.inputs.properties ?? {}, `${agent.name} inputs`),
        h("h3", {}, t("Outputs")), value(agent.outputs.properties ?? {}, `${agent.name} outputs`),
        agent.file && h("p", {class: "note"}, phrase("Defined in the file {file}. Edit it there.", {file: h("code", {}, agent.file)})),
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
      this.endpoints.length > 1 && h("label", {class: "check"}, t("Model"), models),
      boxes.map((box) => h("label", {class: "check"}, box, box.value)));
  }

  skill(skill) {
    return [
      h("p", {class: "line"}, h("strong", {}, skill.name), h("span", {class: "note"}, skill.description)),
      fold(`skill ${skill.name}`, t("Instructions"), () => [
        h("p", {class: "text"}, skill.instructions), skill.tools.length > 0 && h("p", {class: "note"}, t("Tools: {tools}", {tools: skill.tools.join(", ")}))]),
      owner() && !skill.file && fold(`edit skill ${skill.name}`, t("Edit"), () => [
        skillForm(this, skill), confirmButton(t("Remove"), `remove skill ${skill.name}`, () => this.change(() => api.removeSkill(skill.name)))]),
    ];
  }
}
