/* Progress of background jobs. */

import * as api from "../lib/api.js";
import {badge, h} from "../lib/dom.js";
import {RequestError, Unreachable} from "../lib/errors.js";
import {seconds, shorten} from "../lib/format.js";
import {n, number, t, term} from "../lib/i18n.js";

const POLL_MS = 700;
const OPEN = ["waiting", "running"];

export const isOpen = (job) => OPEN.includes(job.status);

/** Polls a job until it ends. `onChange` gets the job after each poll, `onError` request errors. */
export class JobWatch {
  constructor(job, onChange, onError) {
    this.job = job; this.onChange = onChange; this.onError = onError; this.closed = false; this.timer = 0;
    this.schedule();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  schedule() {
    if (!this.closed && isOpen(this.job)) this.timer = setTimeout(() => this.poll(), POLL_MS);
  }

  async poll() {
    try {
      this.job = await api.job(this.job.id);
      if (!this.closed) this.onChange(this.job);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (!(error instanceof Unreachable)) {
        this.onError(error);
        return;
      }
      await api.online();
    }
    this.schedule();
  }
}

/** An ingest job with a progress bar. `stop` cancels it. */
export function ingestLine(job, stop) {
  const {progress, result} = job;
  const share = progress?.files_total ? progress.files_done / progress.files_total : 0;
  return h("div", {class: "job", role: "status"},
    h("p", {class: "facts"}, badge(job.status), h("span", {}, describe(job)),
      progress?.failed > 0 && isOpen(job) && h("span", {class: "fault"}, t("{failed} failed", {failed: number(progress.failed)})),
      progress && h("span", {}, seconds(progress.seconds)),
      isOpen(job) && h("button", {type: "button", class: "quiet", "data-key": `stop ${job.id}`, on: {click: stop}}, t("Cancel"))),
    isOpen(job) && h("progress", {max: 1, value: progress ? share : null, "aria-label": t("Files done")}),
    job.error && h("p", {class: "fault"}, job.error),
    [...(result?.notices ?? []), result?.search_note].filter(Boolean).map((notice) => h("p", {class: "note"}, notice)),
    result?.left_out?.length > 0 && h("details", {"data-key": `left out ${job.id}`}, h("summary", {}, n(result.left_out.length, "{count} file left out", "{count} files left out")),
      h("ul", {}, result.left_out.map((each) => h("li", {}, `${each.path}: ${each.reason}`)))));
}

function describe({status, progress, result, waits_for}) {
  if (status === "done" && result) {
    const indexed = [n(result.indexed, "{count} document indexed", "{count} documents indexed"), result.warned?.length > 0 && t("({count} with warnings)", {count: number(result.warned.length)})];
    return [indexed.filter(Boolean).join(" "), result.unchanged > 0 && t("{unchanged} unchanged", {unchanged: number(result.unchanged)}),
      result.restored > 0 && t("{restored} restored", {restored: number(result.restored)}),
      result.failed?.length > 0 && t("{failed} failed", {failed: number(result.failed.length)})].filter(Boolean).join(" · ");
  }
  if (waits_for) return waits_for;
  if (!progress) return status === "waiting" ? t("queued") : "";
  return `${n(progress.files_total, "{part} of {count} file", "{part} of {count} files", {part: number(progress.files_done)})} · ${term(progress.stage)} ${shorten(progress.name, 60)}`;
}
