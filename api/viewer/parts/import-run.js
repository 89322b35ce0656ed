/* A button that adds the run of a file. */

import * as api from "../lib/api.js";
import {h} from "../lib/dom.js";
import {tryAction} from "./forms.js";
import {t} from "../lib/i18n.js";

/** Return the button. `errorBox` shows why a file was refused. */
export function importButton(errorBox) {
  const load = async (file) => {
    button.disabled = true;
    await tryAction(errorBox, async () => {
      const added = await api.importRun(file);
      location.hash = `#/runs/${encodeURIComponent(added.run_id)}`;
    });
    button.disabled = false;
  };
  const input = h("input", {type: "file", accept: ".candor", hidden: true, "aria-label": t("File of a run"), on: {change: () => {
    if (input.files.length) load(input.files[0]);
    input.value = "";
  }}});
  const button = h("button", {type: "button", class: "quiet", on: {click: () => input.click()}}, t("Import a run"));
  return [input, button];
}
