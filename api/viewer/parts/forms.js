/* What pages share that change something: fields, actions that may fail, and asking once more before what cannot be undone. */

import {failure, h} from "../lib/dom.js";
import {Trouble} from "../lib/errors.js";

/** A field of a form with its label, and a word on what belongs into it. */
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

/** Do what a person asked for; what keeps it from being done is shown in `trouble`. Whether it was done. */
export async function attempt(trouble, act) {
  trouble.replaceChildren();
  try {
    await act();
    return true;
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    trouble.replaceChildren(failure(error));
    trouble.scrollIntoView({block: "nearest"});
    return false;
  }
}

let asked = ""; // the button that was pressed once

/** A button that asks once more before it acts. `key` names it among those beside it. */
export function sure(label, key, act) {
  const again = `${label} for good?`;
  const button = h("button", {type: "button", class: "quiet", "data-key": key, on: {
    click: () => {
      if (asked === key) {
        asked = "";
        act();
        return;
      }
      asked = key;
      button.textContent = again;
    },
    blur: () => {
      if (asked === key && button.isConnected) asked = "";
      button.textContent = label;
    },
  }}, asked === key ? again : label);
  return button;
}
