/* Progress of background jobs. */

import * as api from "../lib/api.js";
import {badge, h} from "../lib/dom.js";
import {RequestError, Unreachable} from "../lib/errors.js";
import {plural, seconds, shorten} from "../lib/format.js";

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
      progress?.failed > 0 && isOpen(job) && h("span", {class: "fault"}, `${progress.failed.toLocaleString("en")} failed`),
      progress && h("span", {}, seconds(progress.seconds)),
      isOpen(job) && h("button", {type: "button", class: "quiet", "data-key": `stop ${job.id}`, on: {click: stop}}, "Cancel")),
    isOpen(job) && h("progress", {max: 1, value: progress ? share : null, "aria-label": "Files done"}),
    job.error && h("p", {class: "fault"}, job.error),
    [...(result?.notices ?? []), result?.search_note].filter(Boolean).map((notice) => h("p", {class: "note"}, notice)),
    result?.left_out?.length > 0 && h("details", {"data-key": `left out ${job.id}`}, h("summary", {}, `${plural(result.left_out.length, "file")} left out`),
      h("ul", {}, result.left_out.map((each) => h("li", {}, `${each.path}: ${each.reason}`)))));
}

function describe({status, progress, result, waits_for}) {
  if (status === "done" && result) {
    return [plural(result.indexed, "document"), "indexed", result.warned?.length > 0 && `(${result.warned.length.toLocaleString("en")} with warnings)`, result.unchanged > 0 && `· ${result.unchanged.toLocaleString("en")} unchanged`,
      result.restored > 0 && `· ${result.restored.toLocaleString("en")} restored`,
      result.failed?.length > 0 && `· ${result.failed.length.toLocaleString("en")} failed`].filter(Boolean).join(" ");
  }
  if (waits_for) return waits_for;
  if (!progress) return status === "waiting" ? "queued" : "";
  return `${progress.files_done.toLocaleString("en")} of ${plural(progress.files_total, "file")} · ${progress.stage} ${shorten(progress.name, 60)}`;
}
