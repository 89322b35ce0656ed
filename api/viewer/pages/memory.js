/* Memory: personal preferences and conversations, shared how-to notes, and saved plans. */

import * as api from "../lib/api.js";
import {failure, fold, h, loading, replace} from "../lib/dom.js";
import {confirmButton, field, textarea, tryAction} from "../parts/forms.js";
import {owner} from "../lib/session.js";
import {formatTime} from "../lib/format.js";
import {t} from "../lib/i18n.js";
import {exportButton, importForm, planForm, planView} from "../parts/plans.js";

const KINDS = [
  ["preference", t("Preferences"), t("The planner reads them for all your questions. Only you can see them."), t("Answer in German.")],
  ["how_to", t("How-to notes"), t("Shared notes on how to research questions. For a question, the planner and the agents with memory read the notes on similar questions."), t("Operating temperatures are in the data sheets.")],
];

export function showMemory(container) {
  const view = new MemoryView(container);
  return {close: () => { view.closed = true; }};
}

class MemoryView {
  constructor(container) {
    this.closed = false; this.entries = []; this.plans = [];
    this.errorBox = h("div", {});
    this.body = h("div", {}, loading());
    container.append(h("h1", {}, t("Memory")), this.errorBox, this.body);
    this.load();
  }

  async load() {
    try {
      [this.entries, this.plans] = await Promise.all([api.memories(), api.plans()]);
      if (!this.closed) this.draw();
    } catch (error) {
      this.body.replaceChildren(failure(error, () => this.load()));
    }
  }

  change(act) {
    return tryAction(this.errorBox, async () => {
      await act();
      await this.load();
    });
  }

  draw() {
    replace(this.body, KINDS.map((kind) => this.notes(...kind)), this.conversations(), this.toolUses(), this.saved());
  }

  notes(kind, title, about, example) {
    const editable = kind === "preference" || owner();
    const entries = this.entries.filter((entry) => entry.kind === kind);
    return h("section", {"aria-label": title}, h("h2", {}, title), h("p", {class: "note"}, about),
      h("ul", {class: "cards"}, entries.map((entry) => h("li", {},
        h("div", {class: "line"}, h("span", {class: "text"}, entry.text), editable && h("span", {class: "end"}, this.deleteButton(entry))),
        editable && fold(`edit ${entry.id}`, t("Edit"), () => noteForm(entry.text, t("Save"), (text) => this.change(() => api.editMemory(entry.id, text))))))),
      editable && fold(`new ${kind}`, t("New entry"), () => noteForm("", t("Add"), (text) => this.change(() => api.addMemory(kind, text)), example)));
  }

  conversations() {
    const sessions = Map.groupBy(this.entries.filter((entry) => entry.kind === "conversation"), (entry) => entry.session);
    return sessions.size > 0 && h("section", {"aria-label": t("Conversations")}, h("h2", {}, t("Conversations")),
      h("p", {class: "note"}, t("Questions and answers of each conversation. Only you can see them.")),
      [...sessions].map(([session, entries]) => fold(`session ${session}`, `${formatTime(entries.at(-1).changed_at)}: ${entries[0].text}`, () =>
        h("ul", {class: "cards"}, entries.map((entry) => h("li", {},
          h("div", {class: "line"}, h("strong", {}, entry.text), h("span", {class: "end"}, this.deleteButton(entry))), h("p", {class: "text"}, entry.answer)))))));
  }

  toolUses() {
    const entries = this.entries.filter((entry) => entry.kind === "tool_use");
    return entries.length > 0 && h("section", {"aria-label": t("Tool use")}, h("h2", {}, t("Tool use")),
      h("p", {class: "note"}, t("Tool calls that led to answers. For a question, the agents with memory read the calls for similar questions.")),
      h("ul", {class: "cards"}, entries.map((entry) => h("li", {},
        h("div", {class: "line"}, h("strong", {}, entry.answer), h("span", {class: "end"}, this.deleteButton(entry))), h("p", {class: "text"}, entry.text)))));
  }

  saved() {
    return h("section", {"aria-label": t("Plans")}, h("h2", {}, t("Plans")),
      h("p", {class: "note"}, t("Templates for questions. Choose a saved plan as the mode of a question.")),
      this.plans.length ? h("ul", {class: "cards"}, this.plans.map((example) => h("li", {}, this.plan(example))))
        : h("p", {class: "note"}, t("No saved plans. You can save a plan on the page of its run.")),
      owner() && fold("import plan", t("Import a plan"), () => importForm((act) => this.change(act))));
  }

  plan(example) {
    const {name, plan} = example;
    return [
      h("div", {class: "line"}, h("strong", {}, name), h("span", {class: "end"}, exportButton(name, this.errorBox),
        owner() && confirmButton(t("Delete"), `delete plan ${name}`, () => this.change(() => api.removePlan(name))))),
      h("p", {class: "note"}, example.question),
      fold(`plan ${name}`, t("Steps"), () => planView(plan)),
      owner() && fold(`edit plan ${name}`, t("Edit"), () => planForm(example, t("Save"), async (content) => {
        await api.editPlan(name, content);
        await this.load();
      })),
    ];
  }

  deleteButton(entry) {
    return confirmButton(t("Delete"), `delete ${entry.id}`, () => this.change(() => api.removeMemory(entry.id)));
  }
}

function noteForm(text, label, save, example = "") {
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    save(new FormData(form).get("text"));
  }}}, field(t("Text"), textarea("text", text, 2, {required: true, placeholder: example})), h("button", {type: "submit", class: "main"}, label));
  return form;
}
