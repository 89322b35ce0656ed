/* A run's events from the first to the last, each once and in order, whatever happens to the connection.

What has happened comes in one request, what happens from then on as a stream. A stream that breaks is taken up by the
browser with Last-Event-ID; one that was refused, or has a gap, is opened anew after the last event that was taken. */

import {Away, back, events, eventsUrl, lost, run} from "./api.js";

const PAUSE_MS = 500;

export class RunStream {
  /** `know` is given the run as it stands, `take` lists of events, `fail` what keeps them from coming. */
  constructor(runId, {know, take, fail}) {
    Object.assign(this, {runId, know, give: take, fail, last: 0, over: false, ended: false, source: null, timer: 0});
    this.open();
  }

  close() {
    this.ended = true;
    this.source?.close();
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

  follow() {
    this.source = new EventSource(eventsUrl(this.runId, this.last));
    this.source.addEventListener("message", ({data}) => this.take([JSON.parse(data)]));
    this.source.addEventListener("error", () => this.broken());
  }

  broken() {
    if (this.ended) return;
    if (this.source.readyState === EventSource.CONNECTING) lost(); // the browser tries again by itself
    if (this.source.readyState === EventSource.CLOSED) this.reopen();
  }

  reopen() {
    this.source?.close();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), PAUSE_MS);
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
    if (fresh.length) this.give(fresh);
    if (fresh.at(-1)?.body.type === "run_finished") this.close();
    else if (gap) this.reopen();
  }
}
