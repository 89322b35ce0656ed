/* Saving a whole run as one file, for a colleague or a bug report. */

import * as api from "../../lib/api.js";
import {fold, h} from "../../lib/dom.js";
import {saveFile} from "../../lib/save-file.js";
import {tryAction} from "../forms.js";
import {t} from "../../lib/i18n.js";

export function runExport(runId) {
  return fold(`export ${runId}`, t("Export this run"), () => {
    const errorBox = h("div", {});
    const texts = h("input", {type: "checkbox", name: "texts", checked: true});
    const button = h("button", {type: "submit", class: "main"}, t("Export for a colleague"));
    return h("form", {class: "card", on: {submit: async (event) => {
      event.preventDefault();
      button.disabled = true;
      await tryAction(errorBox, async () => saveFile(await api.exportRun(runId, texts.checked)));
      button.disabled = false;
    }}},
    h("p", {class: "note"}, t("The file contains the whole run, without its documents. Candor reads it with “Import a run” in the list of runs.")),
    h("label", {class: "check"}, texts, t("With prompts, responses, quotes and results of tools")), errorBox, button);
  });
}
