/* A run's events from the first to the last, each once and in order, whatever happens to the connection.

What has happened comes in one request, what happens from then on as a stream. A stream that ends, breaks, falls silent or
has a gap is opened anew after the last event that was taken, at first soon and then less often. */

import {back, events, eventStream, run} from "./api.js";
import {Away, Trouble} from "./errors.js";

const PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 10_000;
const SILENT_MS = 45_000; // the server says every 15 seconds that it is there

export class RunStream {
  /** `know` is given the run as it stands, `take` lists of events, `fail` what keeps them from coming. */
  constructor(runId, {know, take, fail}) {
    Object.assign(this, {runId, know, give: take, fail, last: 0, over: false, ended: false, pause: PAUSE_MS, timer: 0, cut: new AbortController()});
    this.open();
  }

  close() {
    this.ended = true;
    this.cut.abort();
    clearTimeout(this.timer);
  }

  async open() {
    try {
      const over = this.over; // as it was known before the events were asked for: then none comes after them
      const [known, happened] = await Promise.all([run(this.runId), events(this.runId, this.last)]);
      if (this.ended) return;
      this.over = known.answer !== null;
      this.know(known);
      this.take(happened);
      if (this.ended) return;
      if (over) this.close();
      else if (this.over) this.reopen();
      else this.follow();
    } catch (error) {
      if (this.ended) return;
      this.fail(error);
      if (!(error instanceof Away)) return;
      await back();
      if (!this.ended) this.open();
    }
  }

  async follow() {
    const cut = this.cut = new AbortController();
    const listen = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => cut.abort(), SILENT_MS);
    };
    listen();
    try {
      for await (const data of eventStream(this.runId, this.last, cut.signal)) {
        listen();
        if (data) this.take([JSON.parse(data)]);
        if (cut.signal.aborted) return;
      }
    } catch (error) {
      if (!(error instanceof Trouble)) throw error; // that is a defect; a stream that breaks is opened anew
    }
    this.reopen();
  }

  reopen() {
    if (this.ended) return;
    this.cut.abort();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), this.pause);
    this.pause = Math.min(this.pause * 2, LONGEST_PAUSE_MS);
  }

  /** Those that are new; a gap is closed by asking again for all after the last. */
  take(incoming) {
    if (this.ended) return;
    const fresh = [];
    let gap = false;
    for (const event of incoming) {
      if (event.number <= this.last) continue;
      if (event.number !== this.last + 1) {
        gap = true;
        break;
      }
      this.last = event.number;
      fresh.push(event);
    }
    if (fresh.length) {
      this.pause = PAUSE_MS;
      this.give(fresh);
    }
    if (fresh.at(-1)?.body.type === "run_finished") this.close();
    else if (gap) this.reopen();
  }
}
