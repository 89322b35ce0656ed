/* Form fields, actions that can fail, and buttons with confirmation. */

import {failure, h} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";
import {phrase, t} from "../lib/i18n.js";

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
  return h("th", {scope: "col", class: "actions"}, h("span", {class: "hidden"}, t("Actions")));
}

/**
 * A button that opens a dialog, which names what happens and asks for confirmation. `key` identifies the button on the
 * page. A double click confirms nothing: the dialog covers the button, and ignores the second press. With `name`, the
 * person has to write it.
 */
export function confirmButton(label, key, act, consequence = t("This cannot be undone."), name = "") {
  return h("button", {type: "button", class: "quiet", "data-key": key, on: {click: () => confirm(label, act, consequence, name)}}, label);
}

export const TO_BIN = t("You can restore it from the bin until it is removed permanently.");

function confirm(label, act, consequence, name) {
  const written = name && h("input", {"aria-label": t("Write {name} to confirm", {name}), autocomplete: "off", on: {input: () => { yes.disabled = written.value !== name; }}});
  const close = () => dialog.remove();
  const confirmed = (event) => {
    if (event.detail > 1) return;
    close();
    act();
  };
  const yes = h("button", {type: "button", class: "danger", disabled: Boolean(name), on: {click: confirmed}}, label);
  const dialog = h("dialog", {"aria-label": `${label}?`, on: {close}},
    h("h2", {}, `${label}?`), h("p", {}, consequence),
    name && h("p", {}, h("label", {}, phrase("Write {name} to confirm:", {name: h("strong", {}, name)}), " ", written)),
    h("p", {class: "answers"}, h("button", {type: "button", autofocus: true, on: {click: close}}, t("Cancel")), " ",
      yes));
  document.body.append(dialog);
  dialog.showModal();
}

/** A secret that is shown once, with a button that copies it. */
export function secretView(title, note, secret) {
  const copy = navigator.clipboard && h("button", {type: "button", on: {click: async ({currentTarget}) => {
    await navigator.clipboard.writeText(secret);
    currentTarget.textContent = t("Copied");
  }}}, t("Copy"));
  return h("section", {class: "secret"}, h("strong", {}, title), h("p", {}, note), h("p", {class: "inline"}, h("code", {}, secret), copy));
}
