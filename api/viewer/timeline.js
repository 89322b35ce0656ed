/* When each step was at work, and its model calls within. */

import {h} from "./dom.js";
import {statusOf} from "./model.js";
import {many, seconds, shorten} from "./words.js";

const SLOTS = 400; // model calls that lie closer together than one of these are drawn as one

export function timeline(run, now, over, href) {
  const began = run.began;
  const length = Math.max((run.ended ?? now) - began, 1);
  const share = (time) => Math.min(100, Math.max(0, ((time - began) / length) * 100));
  const planning = run.panel.calls.length > 0 && row("supervisor", "", [], run.panel.calls, share);
  const rows = run.steps.filter((step) => step.startedAt).map((step) => {
    const status = statusOf(step, over || step.attempt < run.attempts.length);
    const end = step.endedAt ?? run.ended ?? now;
    const bar = h("span", {class: `bar is-${status.replace(" ", "-")}`, title: `${status}, ${seconds((end - step.startedAt) / 1000)}`});
    place(bar, share(step.startedAt), share(end));
    return row(step.key, href(step), [bar], step.calls, share);
  });
  return h("div", {class: "timeline"},
    [planning, ...rows].filter(Boolean),
    h("div", {class: "scale", "aria-hidden": "true"}, [0, 0.25, 0.5, 0.75, 1].map((part) => h("span", {}, seconds((length * part) / 1000)))));
}

function row(name, href, bars, calls, share) {
  const label = href ? h("a", {href, "data-key": `row ${name}`}, shorten(name, 26)) : h("span", {}, name);
  const told = calls.length ? many(calls.length, "model call") : "";
  return h("div", {class: "row"}, h("span", {class: "label"}, label), h("span", {class: "track", title: told}, bars, drawn(calls, share)));
}

/** Calls as thin bars; those of one slot together. */
function drawn(calls, share) {
  const slots = new Map();
  for (const call of calls) {
    const to = share(call.at);
    const from = call.replayed ? to : share(call.at - call.usage.seconds * 1000);
    const key = `${Math.floor((from / 100) * SLOTS)} ${Math.floor((to / 100) * SLOTS)} ${Boolean(call.failed)}`;
    if (!slots.has(key)) slots.set(key, {from, to, calls: []});
    slots.get(key).calls.push(call);
  }
  return [...slots.values()].map(({from, to, calls: those}) => {
    const [{caller, usage, replayed, failed}] = those;
    const took = replayed ? "from the journal" : seconds(usage.seconds);
    const bar = h("span", {class: failed ? "call failed" : "call", title: those.length > 1 ? many(those.length, "model call") : `${caller}, ${took}`});
    place(bar, from, to);
    return bar;
  });
}

function place(element, from, to) {
  element.style.left = `${from}%`;
  element.style.width = `max(3px, ${to - from}%)`;
}
