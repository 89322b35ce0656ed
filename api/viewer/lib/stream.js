/* The events of a run, each once and in order, whatever happens to the connection.

Past events come in one request, new ones as a stream. A stream that ends, breaks, falls silent or has a gap is reopened
after the last event received, with exponential back-off. */

import {events, eventStream, online, run} from "./api.js";
import {RequestError, Unreachable} from "./errors.js";

const PAUSE_MS = 500;
const MAX_PAUSE_MS = 10_000;
const SILENT_MS = 45_000; // the server sends a keep-alive every 15 seconds

export class RunStream {
  /** Callbacks: `onRun` gets the run, `onEvents` lists of new events, `onError` request errors. */
  constructor(runId, {onRun, onEvents, onError}) {
    this.runId = runId; this.onRun = onRun; this.onEvents = onEvents; this.onError = onError; this.last = 0;
    this.over = false; this.ended = false; this.pause = PAUSE_MS; this.timer = 0;
    this.controller = new AbortController();
    this.open();
  }

  close() {
    this.ended = true;
    this.controller.abort();
    clearTimeout(this.timer);
  }

  async open() {
    try {
      const over = this.over; // if the run was over before this request, no more events follow
      const [known, past] = await Promise.all([run(this.runId), events(this.runId, this.last)]);
      if (this.ended) return;
      this.over = known.answer !== null;
      this.onRun(known);
      this.add(past);
      if (this.ended) return;
      if (over) this.close();
      else if (this.over) this.reopen();
      else this.follow();
    } catch (error) {
      if (this.ended) return;
      this.onError(error);
      if (!(error instanceof Unreachable)) return;
      await online();
      if (!this.ended) this.open();
    }
  }

  async follow() {
    const controller = this.controller = new AbortController();
    const resetTimer = () => {
      clearTimeout(this.timer);
      this.timer = setTimeout(() => controller.abort(), SILENT_MS);
    };
    resetTimer();
    try {
      for await (const data of eventStream(this.runId, this.last, controller.signal)) {
        resetTimer();
        if (data) this.add([JSON.parse(data)]);
        if (controller.signal.aborted) return;
      }
    } catch (error) {
      if (!(error instanceof RequestError)) throw error; // a defect; a broken stream is reopened
    }
    this.reopen();
  }

  reopen() {
    if (this.ended) return;
    this.controller.abort();
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.open(), this.pause);
    this.pause = Math.min(this.pause * 2, MAX_PAUSE_MS);
  }

  /** Pass on the events that are new. A gap is closed by requesting all events after the last one. */
  add(incoming) {
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
      this.onEvents(fresh);
    }
    if (fresh.at(-1)?.body.type === "run_finished") this.close();
    else if (gap) this.reopen();
  }
}
