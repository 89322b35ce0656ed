/* The form to start an evaluation: a question set and a configuration. */

import {modelOptions} from "./agent-forms.js";
import * as api from "../lib/api.js";
import {h} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";
import {choice, field, tryAction} from "./forms.js";
import {plural, shorten} from "../lib/format.js";
import {phrase, t} from "../lib/i18n.js";

const MODES = [["auto", t("Automatic")], ["fast", t("Fast: one search, one answer")], ["high", t("High: planned research")]];
const NO_JUDGE = "none";
const JUDGE = "model:"; // before the name of an endpoint, which is empty for the default one
const PREVIEWED = 5; // questions shown after a file is chosen

export function evaluationForm(collections, endpoints) {
  const errorBox = h("div", {});
  const models = modelOptions(endpoints);
  const submit = h("button", {type: "submit", class: "main", disabled: true}, t("Start"));
  let set = null;
  const chooser = questionFile((read) => {
    set = read;
    submit.disabled = !read;
  });
  const form = h("form", {class: "card", on: {submit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    await tryAction(errorBox, async () => {
      const job = await api.evaluate(evaluationRequest(new FormData(form), set));
      location.hash = `#/evaluations/${encodeURIComponent(job.id)}`;
    });
    submit.disabled = !set;
  }}},
  chooser,
  h("div", {class: "choices"},
    field(t("Collection"), choice("collection", collections.map(({name}) => [name, name]))),
    field(t("Mode"), choice("mode", MODES, "auto")),
    models.length > 1 && field(t("Model"), choice("endpoint", models)),
    field(t("Samples"), h("input", {name: "samples", type: "number", min: 1, max: 32, placeholder: t("default"), title: t("Number of answers to generate and vote on")})),
    field(t("Judge"), choice("judge", [[NO_JUDGE, t("None: compare with the accepted answers")], ...models.map(([name, label]) => [JUDGE + name, label])], NO_JUDGE)),
    field(t("Parallel"), h("input", {name: "parallel", type: "number", min: 1, max: 256, value: 4, required: true, title: t("Number of questions asked in parallel")})),
    field(t("Label"), h("input", {name: "label", maxlength: 60, placeholder: t("the mode"), title: t("Name of this configuration")})),
    submit),
  errorBox);
  return form;
}

function evaluationRequest(given, set) {
  const [mode, samples, judge] = ["mode", "samples", "judge"].map((name) => given.get(name));
  return {
    collection: given.get("collection"),
    name: set.name,
    questions: set.questions,
    configuration: {
      label: given.get("label").trim() || (samples ? `${mode}, ${plural(Number(samples), "sample")}` : mode),
      mode, samples: samples ? Number(samples) : null, endpoint: given.get("endpoint") ?? "",
    },
    judge: judge === NO_JUDGE ? null : judge.slice(JUDGE.length),
    parallel: Number(given.get("parallel")),
  };
}

/** A drop zone for a question set. `onChange` gets the parsed set, or null if the file is invalid. */
function questionFile(onChange) {
  const errorBox = h("div", {});
  const state = h("div", {role: "status"});
  const load = async (file) => {
    onChange(null);
    state.replaceChildren();
    await tryAction(errorBox, async () => {
      const set = await api.readQuestions(file.name, await textOf(file));
      state.replaceChildren(...preview(set));
      onChange(set);
    });
  };
  const input = h("input", {type: "file", accept: ".jsonl,.csv", hidden: true, "aria-label": t("Question set"), on: {change: () => {
    if (input.files.length) load(input.files[0]);
    input.value = "";
  }}});
  const zone = h("div", {class: "drop", on: {
    dragover: (event) => { event.preventDefault(); zone.classList.add("over"); },
    dragleave: () => zone.classList.remove("over"),
    drop: (event) => {
      event.preventDefault();
      zone.classList.remove("over");
      if (event.dataTransfer.files.length) load(event.dataTransfer.files[0]);
    },
  }},
  h("p", {}, phrase("Drop a question set (.jsonl or .csv) here, or {choose}", {choose: h("button", {type: "button", on: {click: () => input.click()}}, t("Choose a file"))}), input),
  h("p", {class: "note"}, phrase("Required: question. Optional: accepted, type, gold, tags. {command} writes an example.", {command: h("code", {}, "candor eval init questions.csv")})),
  state);
  return h("div", {}, zone, errorBox);
}

async function textOf(file) {
  const bytes = await file.arrayBuffer();
  try {
    return new TextDecoder("utf-8", {fatal: true}).decode(bytes);
  } catch {
    throw new RequestError(t("{name} is not UTF-8 text.", {name: file.name}), t("Invalid file"), t("Save it as UTF-8 and choose it again."));
  }
}

function preview({name, questions}) {
  const [first, tags] = [questions.slice(0, PREVIEWED), new Set(questions.flatMap((each) => each.tags))];
  return [
    h("p", {}, h("strong", {}, `${name}: ${plural(questions.length, "question")}`), tags.size > 0 && `, ${plural(tags.size, "tag")}`),
    h("ul", {class: "values note"}, first.map((each) => h("li", {}, shorten(each.question, 100))), questions.length > PREVIEWED && h("li", {}, "…")),
  ];
}
