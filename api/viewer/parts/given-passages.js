/* The part of the ask form for passages that the person already has. */

import {h} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";
import {choice, field, textarea} from "./forms.js";

const FORMS = [["text", "Plain text, an empty line between passages"], ["json", "JSON, one passage per line"]];
const EXAMPLE = '{"text": "…", "source": "https://example.com/manual", "page": 3}';

/** The folded fields. `asked` has their last values. It is open if they change what is read. */
export function passagesField(asked) {
  const text = textarea("passages", asked.passages, 5);
  const form = choice("passages_form", FORMS, asked.passages_form);
  const describe = () => { text.placeholder = form.value === "json" ? EXAMPLE : ""; };
  form.addEventListener("change", describe);
  describe();
  return h("details", {open: asked.passages !== "" || !asked.search}, h("summary", {}, "Your own passages"),
    field("Passages", text, "Agents read them before others. Their quotes are marked as given."),
    field("Written as", form),
    h("label", {class: "check"}, h("input", {name: "search", type: "checkbox", checked: asked.search}), "Search the collection, too"));
}

/** The passages in the form `rag_results` of a request. Throws RequestError. */
export function passagesFrom({passages, passages_form: form}) {
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
