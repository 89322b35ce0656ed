/* The option of the ask form for passages that the person already has. */

import {h} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {choice, field, textarea} from "../forms.js";
import {t} from "../../lib/i18n.js";

const FORMS = [["text", t("Plain text, an empty line between passages")], ["json", t("JSON, one passage per line")]];
const EXAMPLE = '{"text": "…", "source": "https://example.com/manual", "page": 3}';
const given = {passages: "", form: "text", search: true}; // the last values, kept between visits of the page

/** Fill in the passages of an earlier request. */
export function givePassages({rag_results: passages = [], search = true}) {
  Object.assign(given, {passages: passages.map((each) => JSON.stringify(each)).join("\n"), form: passages.length ? "json" : "text", search});
}

/** The folded fields and the part of a request that they set. See `options.js`. Open if they are not empty. */
export function passagesOption() {
  const text = textarea("passages", given.passages, 5);
  const form = choice("passages_form", FORMS, given.form);
  const search = h("input", {name: "search", type: "checkbox", checked: given.search});
  const keep = () => {
    Object.assign(given, {passages: text.value, form: form.value, search: search.checked});
    text.placeholder = form.value === "json" ? EXAMPLE : "";
  };
  const element = h("details", {open: given.passages !== "" || !given.search, on: {input: keep, change: keep}}, h("summary", {}, t("Your own passages")),
    field(t("Passages"), text, t("Agents read them before other passages. Their quotes are marked as given.")),
    field(t("Written as"), form),
    h("label", {class: "check"}, search, t("Search the collection, too")));
  keep();
  return {element, values: () => ({rag_results: passagesFrom(given), search: given.search}), summary: () => ""};
}

/** The passages in the form `rag_results` of a request. Throws RequestError. */
function passagesFrom({passages, form}) {
  return form === "json" ? fromLines(passages) : fromText(passages);
}

function fromText(text) {
  const parts = text.split(/\n[^\S\n]*\n/).map((each) => each.trim()).filter(Boolean);
  return parts.map((each, at) => ({text: each, source: t("passage {number}", {number: at + 1})}));
}

function fromLines(text) {
  return text.split("\n").flatMap((line, at) => {
    if (!line.trim()) return [];
    try {
      return [JSON.parse(line)];
    } catch (error) {
      throw new RequestError(t("Line {at} of the passages: {message}", {at: at + 1, message: error.message}), t("The passages are not valid JSON"),
        t("Write one passage per line, such as {EXAMPLE}", {EXAMPLE}));
    }
  });
}
