/* Files written or downloaded by tools in a run: save them, or add them to the run's collection. */

import * as api from "../../lib/api.js";
import {failure, fold, h} from "../../lib/dom.js";
import {fileSize} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";
import {saveFile} from "../../lib/save-file.js";
import {may} from "../../lib/session.js";
import {tryAction} from "../forms.js";
import {ingestLine, JobWatch} from "../jobs.js";

export function filesOf(runId, collection) {
  return fold(`files ${runId}`, t("Files written by tools"), async () => {
    const files = await api.runFiles(runId);
    if (!files.length) return h("p", {class: "note"}, t("None."));
    const errorBox = h("div", {});
    return [errorBox, h("ul", {class: "values"}, files.map((file) => fileItem(runId, collection, file, errorBox)))];
  });
}

function fileItem(runId, collection, {name, size, url}, errorBox) {
  const save = () => tryAction(errorBox, async () => saveFile({name: name.split("/").at(-1), content: await api.runFile(runId, name)}));
  return h("li", {},
    h("button", {type: "button", on: {click: save}}, name), " ",
    h("span", {class: "note"}, [fileSize(size), url && t("from {url}", {url})].filter(Boolean).join(", ")), " ",
    may("write", collection) && keeper(runId, name, errorBox));
}

/** A button that adds the file to the run's collection, and the progress of its ingest. */
function keeper(runId, name, errorBox) {
  const line = h("div", {});
  const show = (job) => line.replaceChildren(ingestLine(job, () => tryAction(errorBox, () => api.cancelJob(job.id))),
    ...(job.result?.failed ?? []).map(({reason}) => h("p", {class: "fault"}, reason)));
  const keep = async () => {
    button.disabled = true;
    await tryAction(errorBox, async () => {
      const job = await api.keepRunFile(runId, name);
      show(job);
      const watch = new JobWatch(job, (changed) => (line.isConnected ? show(changed) : watch.close()), (error) => errorBox.replaceChildren(failure(error)));
    });
    button.disabled = false;
  };
  const button = h("button", {type: "button", class: "quiet", "aria-label": t("Add to collection: {name}", {name}), on: {click: keep}}, t("Add to collection"));
  return [button, line];
}
