/* The fields of new columns of a table: a name, a question and the type of its answers. */

import {h} from "../../lib/dom.js";
import {choice} from "../forms.js";

const TYPES = [["text", "Text"], ["number", "Number"], ["date", "Date"], ["yes_no", "Yes or no"], ["choice", "One of several"], ["list", "List"]];
const DETAILS = {number: ["unit", "Unit", "USD million"], choice: ["choices", "Choices", "open | closed"]}; // the extra field of a type

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
    element: h("fieldset", {class: "columns-form"}, h("legend", {}, "Columns"), rows, h("button", {type: "button", on: {click: more}}, "Another column")),
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
    h("label", {}, "Name", h("input", {name: "column", required, maxlength: 200, placeholder: "Revenue"})),
    h("label", {class: "question"}, "Question", h("input", {name: "question", maxlength: 1000, placeholder: "What is asked of each document; empty: the name"})),
    h("label", {}, "Type", type), extra);
}

function columnOf(row) {
  const [name, question, detail] = ["column", "question", "detail"].map((field) => row.querySelector(`[name=${field}]`).value.trim());
  const type = row.querySelector("[name=type]").value;
  const more = type === "choice" ? {choices: detail.split("|").map((each) => each.trim()).filter(Boolean)} : type === "number" ? {unit: detail} : {};
  return {name, question: question || name, type, ...more};
}
