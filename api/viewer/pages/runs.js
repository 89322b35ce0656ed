/* The list of runs, with what narrows it. */

import * as api from "../lib/api.js";
import {badge, empty, failure, h, loading, replace} from "../lib/dom.js";
import {Away, Trouble} from "../lib/errors.js";
import {when} from "../lib/format.js";

const PAGE = 50;
const EVERY_MS = 4000;
const TYPED_MS = 250;
const OPEN = ["waiting", "running"];
const STATES = [...OPEN, "answered", "insufficient", "failed", "cancelled"];
const wanted = {text: "", status: "", collection: ""}; // as it was narrowed last

export function showRuns(place) {
  const view = new RunsView(place);
  return {close: () => view.close()};
}

class RunsView {
  constructor(place) {
    Object.assign(this, {runs: [], more: false, closed: false, timer: 0});
    this.narrow = h("form", {class: "find", role: "search", on: {submit: (event) => event.preventDefault(), input: () => this.narrowed()}});
    this.list = h("div", {}, loading());
    place.append(h("h1", {}, "Runs"), this.narrow, this.list);
    this.again = () => this.begin();
    api.connection.addEventListener("back", this.again);
    this.begin();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    api.connection.removeEventListener("back", this.again);
  }

  async begin() {
    await this.trying(async () => {
      const collections = await api.collections();
      if (!this.closed) replace(this.narrow, narrowing(collections));
    });
    await this.load();
  }

  narrowed() {
    Object.assign(wanted, Object.fromEntries(new FormData(this.narrow)));
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.load(), TYPED_MS);
  }

  /** The newest ones, as many as are shown already. */
  load() {
    return this.trying(async () => {
      clearTimeout(this.timer);
      const asked = {...wanted, limit: Math.max(PAGE, this.runs.length)};
      this.take(await api.runs(asked), asked.limit);
      if (!this.closed && this.runs.some((run) => OPEN.includes(run.status))) this.timer = setTimeout(() => this.load(), EVERY_MS);
    });
  }

  older() {
    return this.trying(async () => {
      const page = await api.runs({...wanted, limit: PAGE, after: this.runs.at(-1).run_id});
      this.take([...this.runs, ...page], this.runs.length + PAGE);
    });
  }

  take(runs, limit) {
    if (this.closed) return;
    this.runs = runs;
    const narrowed = Object.values(wanted).some(Boolean);
    if (!runs.length) {
      this.list.replaceChildren(narrowed ? empty("No run is like that") : empty("No question was asked yet", h("a", {href: "#/"}, "Ask the first one")));
      return;
    }
    replace(this.list, h("ul", {class: "runs"}, runs.map(row)),
      runs.length === limit && h("button", {type: "button", "data-key": "older", on: {click: () => this.older()}}, "Show older ones"));
  }

  async trying(act) {
    try {
      await act();
    } catch (error) {
      if (!(error instanceof Trouble)) throw error;
      if (!this.closed) this.list.replaceChildren(failure(error, error instanceof Away ? null : this.again));
    }
  }
}

function narrowing(collections) {
  const choice = (name, all, values) => h("select", {name, "aria-label": name, "data-key": name},
    h("option", {value: ""}, all), values.map((value) => h("option", {value, selected: value === wanted[name]}, value)));
  return [
    h("input", {type: "search", name: "text", placeholder: "Search the questions", "aria-label": "Search the questions", value: wanted.text, "data-slash": true, "data-key": "text"}),
    choice("status", "All states", STATES),
    collections.length > 1 && choice("collection", "All collections", collections.map((each) => each.name)),
  ];
}

function row(run) {
  return h("li", {},
    h("a", {href: `#/runs/${encodeURIComponent(run.run_id)}`, "data-key": run.run_id},
      h("span", {class: "question"}, run.question),
      h("span", {class: "facts"}, badge(run.status), h("span", {}, run.collection), h("span", {}, run.model),
        h("time", {datetime: run.started_at}, when(run.started_at)))));
}
