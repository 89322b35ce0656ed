/* What is remembered: one's own preferences and conversations, how-to notes for all, and plans that were saved. */

import * as api from "../lib/api.js";
import {failure, fold, h, loading, replace} from "../lib/dom.js";
import {attempt, field, sure, textarea} from "../parts/forms.js";
import {owner} from "../lib/session.js";
import {when} from "../lib/format.js";

const KINDS = [
  ["preference", "Preferences", "What you want of every answer. Yours alone; the planner is told of them.", "Answer in German."],
  ["how_to", "How to go about questions", "Notes for everybody's questions. Those that are like a question are shown to the planner.", "Operating temperatures stand in the data sheets."],
];

export function showMemory(place) {
  const view = new MemoryView(place);
  return {close: () => { view.closed = true; }};
}

class MemoryView {
  constructor(place) {
    Object.assign(this, {closed: false, entries: [], plans: []});
    this.trouble = h("div", {});
    this.body = h("div", {}, loading());
    place.append(h("h1", {}, "Memory"), this.trouble, this.body);
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
    return attempt(this.trouble, async () => {
      await act();
      await this.load();
    });
  }

  draw() {
    replace(this.body, KINDS.map((kind) => this.notes(...kind)), this.conversations(), this.saved());
  }

  notes(kind, title, about, example) {
    const mine = kind === "preference" || owner();
    const entries = this.entries.filter((entry) => entry.kind === kind);
    return h("section", {"aria-label": title}, h("h2", {}, title), h("p", {class: "note"}, about),
      h("ul", {class: "cards"}, entries.map((entry) => h("li", {},
        h("div", {class: "line"}, h("span", {class: "text"}, entry.text), mine && h("span", {class: "end"}, this.forget(entry))),
        mine && fold(`edit ${entry.id}`, "Edit", () => words(entry.text, "Keep", (text) => this.change(() => api.editMemory(entry.id, text))))))),
      mine && fold(`new ${kind}`, "Add one", () => words("", "Add", (text) => this.change(() => api.addMemory(kind, text)), example)));
  }

  conversations() {
    const sessions = Map.groupBy(this.entries.filter((entry) => entry.kind === "conversation"), (entry) => entry.session);
    return sessions.size > 0 && h("section", {"aria-label": "Conversations"}, h("h2", {}, "Conversations"),
      h("p", {class: "note"}, "Questions that were asked one after the other, and what came of them. Yours alone."),
      [...sessions].map(([session, those]) => fold(`session ${session}`, `${when(those.at(-1).changed_at)}: ${those[0].text}`, () =>
        h("ul", {class: "cards"}, those.map((entry) => h("li", {},
          h("div", {class: "line"}, h("strong", {}, entry.text), h("span", {class: "end"}, this.forget(entry))), h("p", {class: "text"}, entry.answer)))))));
  }

  saved() {
    return h("section", {"aria-label": "Plans"}, h("h2", {}, "Plans"),
      h("p", {class: "note"}, "Plans that were saved under a name: a question can be asked so that one is followed."),
      this.plans.length ? h("ul", {class: "cards"}, this.plans.map((example) => h("li", {},
        h("div", {class: "line"}, h("strong", {}, example.name),
          owner() && h("span", {class: "end"}, sure("Forget", `forget plan ${example.name}`, () => this.change(() => api.forgetPlan(example.name))))),
        h("p", {class: "note"}, example.question),
        fold(`plan ${example.name}`, "Its steps", () => h("ol", {}, example.plan.steps.map((step) =>
          h("li", {}, h("strong", {}, step.id), ` ${step.agents.join(", ")}: ${step.instruction}`)))))))
        : h("p", {class: "note"}, "There are none yet. The page of a run has a button that saves its plan."));
  }

  forget(entry) {
    return sure("Forget", `forget ${entry.id}`, () => this.change(() => api.forget(entry.id)));
  }
}

function words(text, label, keep, example = "") {
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    keep(new FormData(form).get("text"));
  }}}, field("In your words", textarea("text", text, 2, {required: true, placeholder: example})), h("button", {type: "submit", class: "main"}, label));
  return form;
}
