/* Saving an answer as a file. */

import * as api from "../../lib/api.js";
import {failure, h} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {saveFile} from "../../lib/save-file.js";

const FORMATS = [["md", "Markdown"], ["html", "HTML"], ["docx", "Word"], ["json", "JSON"]];

export function exportMenu(runId) {
  const errorBox = h("div", {});
  const save = async (format, button) => {
    button.disabled = true;
    errorBox.replaceChildren();
    try {
      saveFile(await api.exportAnswer(runId, format));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      errorBox.replaceChildren(failure(error));
    } finally {
      button.disabled = false;
    }
  };
  return h("div", {class: "export"}, h("span", {class: "note"}, "Save as"),
    FORMATS.map(([format, name]) => h("button", {type: "button", class: "quiet", on: {click: ({currentTarget}) => save(format, currentTarget)}}, name)),
    errorBox);
}
