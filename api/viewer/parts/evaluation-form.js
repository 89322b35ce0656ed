/* The form in which an evaluation is begun: a file of questions, and how they are to be asked. */

import {modelOptions} from "./agent-forms.js";
import * as api from "../lib/api.js";
import {h} from "../lib/dom.js";
import {Trouble} from "../lib/errors.js";
import {attempt, choice, field} from "./forms.js";
import {many, shorten} from "../lib/format.js";

const MODES = [["auto", "As the question needs"], ["fast", "Fast: one search, one answer"], ["high", "High: the whole panel"]];
const NOBODY = "nobody";
const JUDGE = "model:"; // before the name of an endpoint, which is empty for the default one
const SHOWN = 5; // questions of a set, to see whether it is the right one

export function evaluationForm(collections, endpoints) {
  const trouble = h("div", {});
  const models = modelOptions(endpoints);
  const submit = h("button", {type: "submit", class: "main", disabled: true}, "Begin");
  let set = null;
  const chooser = questionFile((read) => {
    set = read;
    submit.disabled = !read;
  });
  const form = h("form", {class: "card", on: {submit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    await attempt(trouble, async () => {
      const job = await api.evaluate(order(new FormData(form), set));
      location.hash = `#/evaluations/${encodeURIComponent(job.id)}`;
    });
    submit.disabled = !set;
  }}},
  chooser,
  h("div", {class: "choices"},
    field("Collection", choice("collection", collections.map(({name}) => [name, name]))),
    field("How", choice("mode", MODES, "auto")),
    models.length > 1 && field("Model", choice("endpoint", models)),
    field("Samples", h("input", {name: "samples", type: "number", min: 1, max: 32, placeholder: "as set", title: "How often each answer is written, to take a vote"})),
    field("Judge", choice("judge", [[NOBODY, "none: compare with what is accepted"], ...models.map(([name, label]) => [JUDGE + name, label])], NOBODY)),
    field("At once", h("input", {name: "parallel", type: "number", min: 1, max: 256, value: 4, required: true, title: "Questions under way at once"})),
    field("Called", h("input", {name: "label", maxlength: 60, placeholder: "as it is asked", title: "What you call this way of asking"})),
    submit),
  trouble);
  return form;
}

function order(given, set) {
  const [mode, samples, judge] = ["mode", "samples", "judge"].map((name) => given.get(name));
  return {
    collection: given.get("collection"),
    name: set.name,
    questions: set.questions,
    configuration: {
      label: given.get("label").trim() || (samples ? `${mode}, ${many(Number(samples), "sample")}` : mode),
      mode, samples: samples ? Number(samples) : null, endpoint: given.get("endpoint") ?? "",
    },
    judge: judge === NOBODY ? null : judge.slice(JUDGE.length),
    parallel: Number(given.get("parallel")),
  };
}

/** A place for a file of questions. `chosen` is given what was read of it, or null where it cannot be used. */
function questionFile(chosen) {
  const trouble = h("div", {});
  const state = h("div", {role: "status"});
  const take = async (file) => {
    chosen(null);
    state.replaceChildren();
    await attempt(trouble, async () => {
      const set = await api.readQuestions(file.name, await textOf(file));
      state.replaceChildren(...told(set));
      chosen(set);
    });
  };
  const input = h("input", {type: "file", accept: ".jsonl,.csv", hidden: true, "aria-label": "Question set", on: {change: () => {
    if (input.files.length) take(input.files[0]);
    input.value = "";
  }}});
  const zone = h("div", {class: "drop", on: {
    dragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
    dragleave: () => zone.classList.remove("over"),
    drop: (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      if (event.dataTransfer.files.length) take(event.dataTransfer.files[0]);
    },
  }},
  h("p", {}, "Drop a question set here, .jsonl or .csv, or ", input, h("button", {type: "button", on: {click: () => input.click()}}, "Choose a file")),
  h("p", {class: "note"}, "A column, or field, question; and any of accepted, type, gold, tags. ", h("code", {}, "candor eval init questions.csv"), " writes one to start from."),
  state);
  return h("div", {}, zone, trouble);
}

async function textOf(file) {
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", {fatal: true}).decode(bytes);
  } catch {
    throw new Trouble(`${file.name} is not text in UTF-8.`, "Wrong input", "Save it as UTF-8, then choose it again.");
  }
}

function told({name, questions}) {
  const [first, tags] = [questions.slice(0, SHOWN), new Set(questions.flatMap((each) => each.tags))];
  return [
    h("p", {}, h("strong", {}, `${name}: ${many(questions.length, "question")}`), tags.size > 0 && `, ${many(tags.size, "tag")}`),
    h("ul", {class: "values note"}, first.map((each) => h("li", {}, shorten(each.question, 100))), questions.length > SHOWN && h("li", {}, "…")),
  ];
}
