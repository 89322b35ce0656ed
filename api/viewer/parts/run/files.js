/* Files written or downloaded by tools in a run. */

import * as api from "../../lib/api.js";
import {fold, h} from "../../lib/dom.js";
import {tryAction} from "../forms.js";
import {saveFile} from "../../lib/save-file.js";

const UNITS = ["bytes", "kB", "MB", "GB"];

export function filesOf(runId) {
  return fold(`files ${runId}`, "Files written by tools", async () => {
    const files = await api.runFiles(runId);
    if (!files.length) return h("p", {class: "note"}, "None.");
    const errorBox = h("div", {});
    return [errorBox, h("ul", {class: "values"}, files.map(({name, size}) => h("li", {},
      h("button", {type: "button", on: {click: () => tryAction(errorBox, async () => saveFile({name: name.split("/").at(-1), content: await api.runFile(runId, name)}))}}, name),
      " ", h("span", {class: "note"}, formatSize(size)))))];
  });
}

function formatSize(bytes) {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** unit).toLocaleString("en", {maximumFractionDigits: unit ? 1 : 0})} ${UNITS[unit]}`;
}
