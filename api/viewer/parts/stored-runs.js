/* The space that runs take, and the form that deletes old ones. */

import * as api from "../lib/api.js";
import {h, replace} from "../lib/dom.js";
import {fileSize, plural} from "../lib/format.js";
import {n, t} from "../lib/i18n.js";
import {confirmButton, field, TO_BIN, tryAction} from "./forms.js";

export function storedRuns() {
  const total = h("p", {role: "status"});
  const errorBox = h("div", {});
  const found = h("div", {role: "status"});
  const days = h("input", {type: "number", name: "older_than_days", min: 0, max: 36500, value: 90, required: true});
  const showTotal = () => tryAction(errorBox, async () => {
    const {runs, bytes} = await api.storedRuns();
    total.textContent = `${plural(runs, "run")}, ${fileSize(bytes)}`;
  });
  const prune = (remove) => tryAction(errorBox, async () => {
    const limits = {older_than_days: Number(days.value)};
    const {runs, bytes} = await api.pruneRuns({...limits, delete: remove});
    const what = `${plural(runs.length, "run")}, ${fileSize(bytes)}`;
    replace(found, h("p", {}, remove ? t("Moved to the bin: {what}.", {what}) : `${n(limits.older_than_days, "Older than {count} day: {what}.", "Older than {count} days: {what}.", {what})} `),
      !remove && runs.length > 0 && confirmButton(t("Delete them"), "prune", () => prune(true), TO_BIN));
    if (remove) await showTotal();
  });
  const form = h("form", {on: {submit: (event) => { event.preventDefault(); prune(false); }, input: () => found.replaceChildren()}},
    field(t("Older than (days)"), days), h("button", {type: "submit"}, t("Find old runs")));
  showTotal();
  return h("section", {}, h("h2", {}, t("Stored runs")), total, form, errorBox, found,
    h("p", {class: "note"}, t("Rated runs, runs of evaluations and the earlier questions of kept conversations stay. The audit log names each deleted run.")));
}
