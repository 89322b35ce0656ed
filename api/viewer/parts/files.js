/* The files that tools wrote or downloaded in a run. */

import * as api from "../lib/api.js";
import {fold, h} from "../lib/dom.js";
import {attempt} from "./forms.js";
import {give} from "../lib/save-file.js";

const UNITS = ["bytes", "kB", "MB", "GB"];

export function filesOf(runId) {
  return fold(`files ${runId}`, "Files that tools wrote", async () => {
    const files = await api.runFiles(runId);
    if (!files.length) return h("p", {class: "note"}, "None.");
    const trouble = h("div", {});
    return [trouble, h("ul", {class: "values"}, files.map(({name, size}) => h("li", {},
      h("button", {type: "button", on: {click: () => attempt(trouble, async () => give({name: name.split("/").at(-1), content: await api.runFile(runId, name)}))}}, name),
      " ", h("span", {class: "note"}, sized(size)))))];
  });
}

function sized(bytes) {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${(bytes / 1000 ** unit).toLocaleString("en", {maximumFractionDigits: unit ? 1 : 0})} ${UNITS[unit]}`;
}
