/* The option of the ask form for passages that the person already has. */

import {h} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {choice, field, textarea} from "../forms.js";

const FORMS = [["text", "Plain text, an empty line between passages"], ["json", "JSON, one passage per line"]];
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
  const element = h("details", {open: given.passages !== "" || !given.search, on: {input: keep, change: keep}}, h("summary", {}, "Your own passages"),
    field("Passages", text, "Agents read them before other passages. Their quotes are marked as given."),
    field("Written as", form),
    h("label", {class: "check"}, search, "Search the collection, too"));
  keep();
  return {element, values: () => ({rag_results: passagesFrom(given), search: given.search}), summary: () => ""};
}

/** The passages in the form `rag_results` of a request. Throws RequestError. */
function passagesFrom({passages, form}) {
  return form === "json" ? fromLines(passages) : fromText(passages);
}

function fromText(text) {
  const parts = text.split(/\n[^\S\n]*\n/).map((each) => each.trim()).filter(Boolean);
  return parts.map((each, at) => ({text: each, source: `passage ${at + 1}`}));
}

function fromLines(text) {
  return text.split("\n").flatMap((line, at) => {
    if (!line.trim()) return [];
    try {
      return [JSON.parse(line)];
    } catch (error) {
      throw new RequestError(`Line ${at + 1} of the passages: ${error.message}`, "The passages are not valid JSON",
        `Write one passage per line, such as ${EXAMPLE}`);
    }
  });
}
