/* The list of runs. */

import * as api from "./api.js";
import {badge, empty, failure, h, loading} from "./dom.js";
import {when} from "./words.js";

const FIRST = 50;
const EVERY_MS = 4000;
const OPEN = ["waiting", "running"];

export function showRuns(place) {
  const list = h("div", {}, loading());
  let limit = FIRST;
  let timer = 0;
  let closed = false;
  place.append(h("h1", {}, "Runs"), list);

  async function load() {
    try {
      const runs = await api.runs(limit);
      if (closed) return;
      list.replaceChildren(...view(runs, limit, () => { limit *= 4; load(); }));
      clearTimeout(timer);
      if (runs.some((run) => OPEN.includes(run.status))) timer = setTimeout(load, EVERY_MS);
    } catch (error) {
      if (!closed) list.replaceChildren(failure(error, load));
    }
  }

  api.connection.addEventListener("back", load);
  load();
  return {
    close() {
      closed = true;
      clearTimeout(timer);
      api.connection.removeEventListener("back", load);
    },
  };
}

function view(runs, limit, more) {
  if (!runs.length) return [empty("No question was asked yet", h("a", {href: "#/"}, "Ask the first one"))];
  return [
    h("ul", {class: "runs"}, runs.map((run) => h("li", {},
      h("a", {href: `#/runs/${encodeURIComponent(run.run_id)}`},
        h("span", {class: "question"}, run.question),
        h("span", {class: "facts"}, badge(run.status), h("span", {}, run.collection), h("span", {}, run.model),
          h("time", {datetime: run.started_at}, when(run.started_at))))))),
    runs.length === limit && h("button", {type: "button", on: {click: more}}, "Show older ones"),
  ].filter(Boolean);
}
