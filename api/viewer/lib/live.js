/* A run, live or finished: its events, the model built from them, its answer and its journal. */

import * as api from "./api.js";
import {Unreachable} from "./errors.js";
import {RunModel} from "./model.js";
import {RunStream} from "./stream.js";

const REDRAW_MS = 100;
const CLOCK_MS = 1000;
const ANSWER_TRIES = 20; // the answer is stored shortly after the last event
const ANSWER_PAUSE_MS = 150;

export class LiveRun {
  /** `onChange` is called after changes, at most every REDRAW_MS. */
  constructor(runId, onChange) {
    this.id = runId; this.onChange = onChange; this.closed = false; this.redraw = 0; this.drawn = -Infinity;
    this.error = null; this.answer = null; this.summary = null; this.entries = null;
    this.model = new RunModel();
    this.stream = new RunStream(runId, {
      onRun: (run) => this.setRun(run), onEvents: (events) => this.addEvents(events), onError: (error) => this.failed(error),
    });
    this.clock = setInterval(() => this.model.events.length && !this.over && this.scheduleRedraw(), CLOCK_MS);
  }

  close() {
    this.closed = true;
    this.stream.close();
    clearInterval(this.clock);
    clearTimeout(this.redraw);
  }

  get over() {
    return Boolean(this.model.finished || this.answer);
  }

  get status() {
    const {finished, started} = this.model;
    const stopped = this.summary?.status === "interrupted";
    return finished?.status ?? this.answer?.status ?? (started && !stopped ? "running" : this.summary?.status ?? "waiting");
  }

  get question() {
    return this.model.started?.request.question ?? this.summary?.question ?? "";
  }

  get collection() {
    return this.model.started?.collection ?? this.summary?.collection ?? "";
  }

  addEvents(events) {
    this.error = null;
    this.model.add(events);
    if (this.model.finished && !this.answer) this.fetchAnswer();
    this.scheduleRedraw();
  }

  setRun({run, answer}) {
    this.summary = run; this.answer = answer; this.error = null;
    this.scheduleRedraw();
  }

  failed(error) {
    this.error = error;
    this.scheduleRedraw();
  }

  scheduleRedraw() {
    if (this.closed || this.redraw) return;
    const wait = Math.max(0, this.drawn + REDRAW_MS - performance.now());
    this.redraw = setTimeout(() => {
      this.redraw = 0;
      this.drawn = performance.now();
      this.onChange(this);
    }, wait);
  }

  async fetchAnswer() {
    try {
      for (let tries = 0; tries < ANSWER_TRIES && !this.answer && !this.closed; tries += 1) {
        if (tries) await new Promise((resolve) => { setTimeout(resolve, ANSWER_PAUSE_MS); });
        this.setRun(await api.run(this.id));
      }
    } catch (error) {
      this.failed(error);
      if (!(error instanceof Unreachable)) return;
      await api.online();
      if (!this.closed) this.fetchAnswer();
    }
  }

  /** Return the journal entry of a model call, or null. Reloads the journal once if the entry is missing. */
  async entry(call) {
    const find = (entries) => entries.find((each) => each.key === call.key && each.occurrence === call.occurrence);
    let found = find(await this.journal());
    if (!found) {
      this.entries = null;
      found = find(await this.journal());
    }
    return found ?? null;
  }

  async journal() {
    this.entries ??= await api.journal(this.id);
    return this.entries;
  }
}
