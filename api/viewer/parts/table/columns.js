/* The fields of new columns of a table: a name, a question and the type of its answers. */

import {h} from "../../lib/dom.js";
import {choice} from "../forms.js";
import {t} from "../../lib/i18n.js";

const TYPES = [["text", t("Text")], ["number", t("Number")], ["date", t("Date")], ["yes_no", t("Yes or no")], ["choice", t("One of several")], ["list", t("List")]];
const DETAILS = {number: ["unit", t("Unit"), t("USD million")], choice: ["choices", t("Choices"), "open | closed"]}; // the extra field of a type

/** Return {element, values}: fields for one column, with a button for more of them, and the columns that are named. */
export function columnFields() {
  const rows = h("div", {});
  const add = () => rows.append(columnRow(!rows.hasChildNodes()));
  const more = () => {
    add();
    rows.lastElementChild.querySelector("input").focus();
  };
  add();
  return {
    element: h("fieldset", {class: "columns-form"}, h("legend", {}, t("Columns")), rows, h("button", {type: "button", on: {click: more}}, t("Another column"))),
    values: () => [...rows.children].map(columnOf).filter(({name}) => name),
  };
}

function columnRow(required) {
  const detail = h("input", {name: "detail"});
  const caption = h("span", {});
  const extra = h("label", {hidden: true}, caption, detail);
  const type = choice("type", TYPES);
  type.addEventListener("change", () => {
    const [, label, placeholder] = DETAILS[type.value] ?? ["", "", ""];
    extra.hidden = !label;
    detail.required = type.value === "choice";
    Object.assign(detail, {placeholder, value: ""});
    caption.textContent = label;
  });
  return h("div", {class: "choices"},
    h("label", {}, t("Name"), h("input", {name: "column", required, maxlength: 200, placeholder: t("Revenue")})),
    h("label", {class: "question"}, t("Question"), h("input", {name: "question", maxlength: 1000, placeholder: t("What is asked of each document; empty: the name")})),
    h("label", {}, t("Type"), type), extra);
}

function columnOf(row) {
  const [name, question, detail] = ["column", "question", "detail"].map((field) => row.querySelector(`[name=${field}]`).value.trim());
  const type = row.querySelector("[name=type]").value;
  const more = type === "choice" ? {choices: detail.split("|").map((each) => each.trim()).filter(Boolean)} : type === "number" ? {unit: detail} : {};
  return {name, question: question || name, type, ...more};
}
