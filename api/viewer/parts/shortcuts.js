/* The keyboard shortcuts, in the dialog that lists them. */

import {h} from "../lib/dom.js";
import {phrase, t} from "../lib/i18n.js";

const key = (name) => h("kbd", {}, name);

/** Fill the dialog when it is opened first. */
export function fillShortcuts(dialog) {
  if (dialog.hasChildNodes()) return;
  const line = (keys, ...meaning) => [h("dt", {}, keys.map((each, at) => [at > 0 && " ", key(each)])), h("dd", {}, meaning)];
  dialog.append(
    h("h2", {id: "shortcuts-title"}, t("Keyboard shortcuts")),
    h("dl", {},
      line(["/"], t("Focus the question, or the search of a run")),
      line(["Ctrl", "Enter"], t("Ask")),
      line(["s"], t("Show or hide the passages that the searches of a run found")),
      line(["n", "p"], t("Open the next or previous quote or event")),
      line(["Enter"], phrase("In the search of a run: next hit; with {shift}: previous hit", {shift: key("Shift")})),
      line(["↑", "↓"], phrase("Move through the event list; {enter} opens an event", {enter: key("Enter")})),
      line(["←", "→", "Home", "End"], phrase("In a table: move through the cells; {enter} goes to the quotes of a cell, {e} edits it", {enter: key("Enter"), e: key("e")})),
      line(["Esc"], t("Close the side panel")),
      line(["?"], t("Show this list"))),
    h("form", {method: "dialog"}, h("button", {}, t("Close"))));
}
