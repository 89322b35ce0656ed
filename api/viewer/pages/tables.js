/* The tables, which ask the same questions of many documents, and the form that creates one. */

import * as api from "../lib/api.js";
import {empty, h} from "../lib/dom.js";
import {formatTime, plural} from "../lib/format.js";
import {t} from "../lib/i18n.js";
import {collectionChoice} from "../parts/ask/collection.js";
import {filterOption} from "../parts/ask/filter.js";
import {inWords} from "../parts/filters.js";
import {field, tryAction} from "../parts/forms.js";
import {showLoaded} from "../parts/loaded.js";
import {columnFields} from "../parts/table/columns.js";

export function showTables(container) {
  return showLoaded(container, t("Tables"), () => Promise.all([api.tables(), api.collections()]), ([tables, collections]) => [
    h("h1", {}, t("Tables")),
    h("p", {class: "note"}, t("A table asks the same questions of many documents. Each cell has its value with the quotes that state it, or says why it is empty.")),
    tables.length ? h("ul", {class: "runs"}, tables.map(line)) : empty(t("No tables yet"), collections.length ? t("Create one below.") : h("a", {href: "#/documents"}, t("Add documents first"))),
    collections.length > 0 && h("details", {open: !tables.length}, h("summary", {}, t("New table")), form(collections)),
  ].filter(Boolean));
}

function line({name, collection, columns, filter, created_at: created}) {
  return h("li", {}, h("a", {href: address(name)}, h("span", {class: "question"}, name),
    h("span", {class: "facts"}, [collection, filter && inWords(filter), plural(columns.length, "column"), columns.map((each) => each.name).join(", "), formatTime(created)].filter(Boolean).map((each) => h("span", {}, each)))));
}

function form(collections) {
  const errorBox = h("div", {});
  const name = h("input", {name: "name", required: true, maxlength: 64, pattern: "[\\p{L}\\p{N}_][\\p{L}\\p{N}_.\\-]*", placeholder: t("reports")});
  const collection = collectionChoice(collections, () => {});
  const [columns, filter] = [columnFields(), filterOption()];
  return h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    tryAction(errorBox, async () => {
      const table = await api.addTable({name: name.value, collection: collection.value(), columns: columns.values(), ...filter.values()});
      location.hash = address(table.name);
    });
  }}},
  field(t("Name"), name, t("Letters, digits, _ . and -")), collection.element, collection.several, collection.notice, filter.element, columns.element, errorBox,
  h("p", {}, h("button", {type: "submit", class: "main"}, t("Create"))));
}

function address(name) {
  return `#/tables/${encodeURIComponent(name)}`;
}
