/* A run as it happens, or as it happened: its events, what they add up to, its answer and its journal. */

import * as api from "./api.js";
import {Away} from "./errors.js";
import {RunModel} from "./model.js";
import {RunStream} from "./stream.js";

const REDRAW_MS = 100;
const CLOCK_MS = 1000;
const ANSWER_TRIES = 20; // the answer is stored a moment after the last event is told
const ANSWER_PAUSE_MS = 150;

export class LiveRun {
  /** `changed` is called, not too often, when there is something new to show. */
  constructor(runId, changed) {
    Object.assign(this, {id: runId, changed, closed: false, redraw: 0, drawn: -Infinity, error: null, answer: null, summary: null, entries: null});
    this.model = new RunModel();
    this.stream = new RunStream(runId, {
      know: (known) => this.know(known), take: (events) => this.take(events), fail: (error) => this.failed(error),
    });
    this.clock = setInterval(() => this.model.events.length && !this.over && this.later(), CLOCK_MS);
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
    return finished?.status ?? this.answer?.status ?? (started ? "running" : this.summary?.status ?? "waiting");
  }

  get question() {
    return this.model.started?.request.question ?? this.summary?.question ?? "";
  }

  get collection() {
    return this.model.started?.collection ?? this.summary?.collection ?? "";
  }

  take(events) {
    this.error = null;
    this.model.take(events);
    if (this.model.finished && !this.answer) this.fetchAnswer();
    this.later();
  }

  know({run, answer}) {
    Object.assign(this, {summary: run, answer, error: null});
    this.later();
  }

  failed(error) {
    this.error = error;
    this.later();
  }

  later() {
    if (this.closed || this.redraw) return;
    const wait = Math.max(0, this.drawn + REDRAW_MS - performance.now());
    this.redraw = setTimeout(() => {
      this.redraw = 0;
      this.drawn = performance.now();
      this.changed(this);
    }, wait);
  }

  async fetchAnswer() {
    try {
      for (let tries = 0; tries < ANSWER_TRIES && !this.answer && !this.closed; tries += 1) {
        if (tries) await new Promise((resolve) => { setTimeout(resolve, ANSWER_PAUSE_MS); });
        this.know(await api.run(this.id));
      }
    } catch (error) {
      this.failed(error);
      if (!(error instanceof Away)) return;
      await api.back();
      if (!this.closed) this.fetchAnswer();
    }
  }

  /** The journal's entry of a model call; asked for again while the run adds to it. */
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
