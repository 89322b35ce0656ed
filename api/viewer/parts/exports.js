/* Taking an answer along: as a file of a kind that others can open. */

import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";
import {Trouble} from "../lib/errors.js";
import {give} from "../lib/save-file.js";

const FORMATS = [["md", "Markdown"], ["html", "HTML"], ["docx", "Word"], ["json", "JSON"]];

export function exportMenu(runId) {
  const trouble = h("div", {});
  const save = async (format, button) => {
    button.disabled = true;
    trouble.replaceChildren();
    try {
      give(await api.exported(runId, format));
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      trouble.replaceChildren(failure(error));
    } finally {
      button.disabled = false;
    }
  };
  return h("div", {class: "export"}, h("span", {class: "note"}, "Save as"),
    FORMATS.map(([format, name]) => h("button", {type: "button", class: "quiet", on: {click: ({currentTarget}) => save(format, currentTarget)}}, name)),
    trouble);
}
