/* Work that the service does in turn, such as reading documents in: how far it is, until it has ended. */

import * as api from "../lib/api.js";
import {badge, h} from "../lib/dom.js";
import {Away, Trouble} from "../lib/errors.js";
import {many, seconds, shorten} from "../lib/format.js";

const EVERY_MS = 700;
const OPEN = ["waiting", "running"];

export const isOpen = (job) => OPEN.includes(job.status);

/** Follows a job to its end: `changed` is given it as it stands, `failed` what keeps that from being known. */
export class JobWatch {
  constructor(job, changed, failed) {
    Object.assign(this, {job, changed, failed, closed: false, timer: 0});
    this.later();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
  }

  later() {
    if (!this.closed && isOpen(this.job)) this.timer = setTimeout(() => this.look(), EVERY_MS);
  }

  async look() {
    try {
      this.job = await api.job(this.job.id);
      if (!this.closed) this.changed(this.job);
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      if (!(error instanceof Away)) {
        this.failed(error);
        return;
      }
      await api.back();
    }
    this.later();
  }
}

/** An ingest as a line with a bar. `stop` cancels it. */
export function ingestLine(job, stop) {
  const {progress, result} = job;
  const share = progress?.files_total ? progress.files_done / progress.files_total : 0;
  return h("div", {class: "job", role: "status"},
    h("p", {class: "facts"}, badge(job.status), h("span", {}, told(job)),
      progress?.failed > 0 && isOpen(job) && h("span", {class: "fault"}, `${progress.failed.toLocaleString("en")} failed`),
      progress && h("span", {}, seconds(progress.seconds)),
      isOpen(job) && h("button", {type: "button", class: "quiet", "data-key": `stop ${job.id}`, on: {click: stop}}, "Cancel")),
    isOpen(job) && h("progress", {max: 1, value: progress ? share : null, "aria-label": "Files done"}),
    job.error && h("p", {class: "fault"}, job.error),
    result?.left_out?.length > 0 && h("details", {"data-key": `left out ${job.id}`}, h("summary", {}, `${many(result.left_out.length, "file")} left out`),
      h("ul", {}, result.left_out.map((each) => h("li", {}, `${each.path}: ${each.reason}`)))));
}

function told({status, progress, result}) {
  if (status === "done" && result) {
    return [many(result.indexed, "document"), "read in", result.unchanged > 0 && `· ${result.unchanged.toLocaleString("en")} unchanged`,
      result.failed?.length > 0 && `· ${result.failed.length.toLocaleString("en")} failed`].filter(Boolean).join(" ");
  }
  if (!progress) return status === "waiting" ? "waits for its turn" : "";
  return `${progress.files_done.toLocaleString("en")} of ${many(progress.files_total, "file")} · ${progress.stage} ${shorten(progress.name, 60)}`;
}
