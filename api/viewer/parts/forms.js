/* Form fields, actions that can fail, and buttons with confirmation. */

import {failure, h} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";

/** A form field with a label and a hint. */
export function field(label, input, note = "") {
  return h("label", {class: "field"}, h("span", {}, label), input, note && h("span", {class: "note"}, note));
}

export function choice(name, options, chosen = "") {
  return h("select", {name}, options.map(([value, label]) => h("option", {value, selected: value === chosen}, label)));
}

export function textarea(name, value, rows, more = {}) {
  const element = h("textarea", {name, rows, ...more});
  element.value = value;
  return element;
}

/** Run an action, and show its error in `errorBox`. Returns whether it succeeded. */
export async function tryAction(errorBox, act) {
  errorBox.replaceChildren();
  try {
    await act();
    return true;
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    errorBox.replaceChildren(failure(error));
    errorBox.scrollIntoView({block: "nearest"});
    return false;
  }
}

/** The head of a column of buttons. */
export function actionsHead() {
  return h("th", {scope: "col", class: "actions"}, h("span", {class: "hidden"}, "Actions"));
}

let pressed = ""; // key of the button that was pressed once

/** A button that asks for confirmation: it acts on the second press. `key` identifies it on the page. */
export function confirmButton(label, key, act) {
  const question = `Really ${label.toLowerCase()}?`;
  const button = h("button", {type: "button", class: "quiet", "data-key": key, on: {
    click: () => {
      if (pressed === key) {
        pressed = "";
        act();
        return;
      }
      pressed = key;
      button.textContent = question;
    },
    blur: () => {
      if (pressed === key && button.isConnected) pressed = "";
      button.textContent = label;
    },
  }}, pressed === key ? question : label);
  return button;
}
