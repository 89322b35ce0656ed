/* The tags of a document, and a form to change them. */

import {h} from "../lib/dom.js";
import {commaList} from "./filters.js";
import {t} from "../lib/i18n.js";

/** The tags. With `change`, which gets {add} or {remove}, they can be removed, and others added. */
export function tagList(document, change) {
  if (!document.tags.length && !change) return null;
  const tags = document.tags.map((tag) => h("span", {class: "tag"}, tag,
    change && h("button", {
      type: "button", class: "quiet", "aria-label": t("Remove tag {tag} from {name}", {tag, name: document.name}), "data-key": `untag ${document.id} ${tag}`,
      on: {click: () => change({remove: [tag]})},
    }, "×")));
  return h("div", {class: "tags"}, tags, change && adder(document, change));
}

function adder(document, change) {
  const input = h("input", {name: "tag", required: true, "aria-label": t("New tags of {name}", {name: document.name}), placeholder: t("taxes, 2024"), "data-key": `tag ${document.id}`});
  const form = h("form", {class: "inline", on: {submit: (event) => {
    event.preventDefault();
    change({add: commaList(input.value)});
  }}}, input, h("button", {type: "submit"}, t("Add")));
  return h("details", {class: "add-tag", "data-key": `tags ${document.id}`}, h("summary", {}, t("Add tag")), form);
}
