/* The form that starts a conversation: the question, its collection and its options, and questions to start from. */

import {collectionChoice, keepCollection} from "./ask/collection.js";
import {chooseFilter, filterOption} from "./ask/filter.js";
import {givePassages, passagesOption} from "./ask/given-passages.js";
import {chooseOptions, methodOption, optionFold, sourcesOption} from "./ask/options.js";
import {Starters} from "./ask/starters.js";
import {send} from "./ask/send.js";
import {h} from "../lib/dom.js";
import {t} from "../lib/i18n.js";

let draft = ""; // the question of the next form

/** Fill the next form with a question, its options and its collection, as an earlier run has them. */
export function fillForm(request, collection) {
  draft = request.question;
  keepCollection(collection);
  chooseOptions(request);
  chooseFilter(request);
  givePassages(request);
}

/** `defaults`: the default options of a question. */
export function askForm(collections, endpoints, plans, defaults) {
  const question = h("textarea", {
    id: "question", name: "question", rows: 3, required: true, "data-slash": true,
    placeholder: t("What do you want to know from your documents?"),
    on: {keydown: (event) => event.key === "Enter" && (event.ctrlKey || event.metaKey) && form.requestSubmit()},
  });
  const starters = new Starters((suggested) => {
    question.value = suggested;
    question.focus();
  });
  const collection = collectionChoice(collections, (name) => starters.show(name));
  const options = optionFold([methodOption(endpoints, plans), sourcesOption(defaults.sources)]);
  const [passages, filter] = [passagesOption(), filterOption()];
  question.value = draft;
  options.element.open = draft !== ""; // a question is asked again to change its options
  draft = "";
  const errorBox = h("div", {});
  const submit = h("button", {type: "submit", class: "main"}, t("Ask"));
  const form = h("form", {class: "ask", on: {submit: (event) => {
    event.preventDefault();
    const asked = collection.value();
    keepCollection(asked);
    send(() => ({collection: asked, question: question.value, ...options.values(), ...passages.values(), ...filter.values()}), submit, errorBox);
  }}},
  h("label", {for: "question", class: "hidden"}, t("Question")), question,
  h("div", {class: "choices"}, collection.element, submit),
  collection.several, collection.notice, options.element, filter.element, passages.element, errorBox);
  starters.show(collection.chosen);
  return h("div", {}, form, starters.element);
}
