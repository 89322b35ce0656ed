/* Copying an answer, and saving it as a file. */

import * as api from "../../lib/api.js";
import {copyAnswer} from "./copy.js";
import {failure, h} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {owner, session} from "../../lib/session.js";
import {shareButton} from "./share.js";
import {saveFile} from "../../lib/save-file.js";
import {t} from "../../lib/i18n.js";

const FORMATS = [["md", "Markdown"], ["html", "HTML"], ["docx", "Word"], ["pdf", "PDF"], ["json", "JSON"]];

export function exportMenu(answer, collection) {
  const errorBox = h("div", {});
  const save = async (format, button) => {
    button.disabled = true;
    errorBox.replaceChildren();
    try {
      saveFile(await api.exportAnswer(answer.run_id, format));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      errorBox.replaceChildren(failure(error));
    } finally {
      button.disabled = false;
    }
  };
  const copied = h("span", {class: "note", role: "status"});
  const copy = () => { copied.textContent = copyAnswer(answer) ? t("Copied") : t("The browser does not allow copying. Save the answer as a file."); };
  return h("div", {class: "export"},
    h("button", {type: "button", class: "quiet", on: {click: copy}}, t("Copy with citations")), copied,
    h("span", {class: "note"}, t("Save as")),
    FORMATS.map(([format, name]) => h("button", {type: "button", class: "quiet", on: {click: ({currentTarget}) => save(format, currentTarget)}}, name)),
    (owner() || session.me.signed_in) && shareButton(answer, collection),
    errorBox);
}
