/* When each step was at work, and its model calls within, side by side where several ran at once. */

import {h} from "../lib/dom.js";
import {statusOf} from "../lib/model.js";
import {many, seconds, shorten} from "../lib/format.js";

const SLOTS = 400; // model calls that lie closer together than one of these are drawn as one
const LANES = 5; // calls at once that get a line of their own
const LANE_REM = 0.5;

/** `href` gives the address of a step, `open` is given the number of the event of a model call that was chosen. */
export function timeline(run, now, over, href, open) {
  const began = run.began;
  const length = Math.max((run.ended ?? now) - began, 1);
  const share = (time) => Math.min(100, Math.max(0, ((time - began) / length) * 100));
  const planning = run.panel.calls.length > 0 && row(h("span", {}, "supervisor"), null, run.panel.calls, share, open);
  const rows = run.steps.filter((step) => step.startedAt).map((step) => {
    const status = statusOf(step, over || step.attempt < run.attempts.length);
    const end = step.endedAt ?? run.ended ?? now;
    const bar = h("span", {class: `bar is-${status.replace(" ", "-")}`, title: `${status}, ${seconds((end - step.startedAt) / 1000)}`});
    place(bar, share(step.startedAt), share(end));
    return row(h("a", {href: href(step), "data-key": `row ${step.key}`}, shorten(step.key, 26)), bar, step.calls, share, open);
  });
  return h("div", {class: "timeline"},
    planning, rows, run.resumed.length > 0 && resumptions(run.resumed, share),
    h("div", {class: "scale", "aria-hidden": "true"}, [0, 0.25, 0.5, 0.75, 1].map((part) => h("span", {}, seconds((length * part) / 1000)))));
}

function row(label, bar, calls, share, open) {
  const drawn = inLanes(inSlots(calls, share));
  const track = h("span", {class: "track", title: calls.length ? many(calls.length, "model call") : ""}, bar, drawn.map((each) => callBar(each, open)));
  track.style.height = `${Math.max(1.05, (1 + Math.max(0, ...drawn.map(({lane}) => lane))) * LANE_REM + 0.4)}rem`;
  return h("div", {class: "row"}, h("span", {class: "label"}, label), track);
}

function callBar({from, to, calls, lane}, open) {
  const [{caller, usage, replayed, failed, number}] = calls;
  const told = calls.length > 1 ? many(calls.length, "model call") : `${caller}, ${replayed ? "from the journal" : seconds(usage.seconds)}`;
  const bar = h("button", { // by keyboard, a call is reached in the list of events
    type: "button", tabindex: "-1", class: failed ? "call failed" : "call", title: told, "aria-label": told, on: {click: () => open(number)},
  });
  place(bar, from, to);
  bar.style.top = `${0.33 + lane * LANE_REM}rem`;
  return bar;
}

/** Calls with their places; those of one slot together. */
function inSlots(calls, share) {
  const slots = new Map();
  for (const call of calls) {
    const to = share(call.at);
    const from = call.replayed ? to : share(call.at - call.usage.seconds * 1000);
    const key = `${Math.floor((from / 100) * SLOTS)} ${Math.floor((to / 100) * SLOTS)} ${Boolean(call.failed)}`;
    if (!slots.has(key)) slots.set(key, {from, to, calls: []});
    slots.get(key).calls.push(call);
  }
  return [...slots.values()];
}

/** Each in the first lane that is free when it begins; what finds none shares the last. */
function inLanes(placed) {
  const ends = [];
  return placed.sort((a, b) => a.from - b.from).map((each) => {
    const free = ends.findIndex((end) => end <= each.from);
    const lane = free >= 0 ? free : Math.min(ends.length, LANES - 1);
    ends[lane] = each.to;
    return {...each, lane};
  });
}

/** When the service was started again in the middle of the run. */
function resumptions(times, share) {
  const track = h("span", {class: "track"}, times.map((time) => {
    const mark = h("span", {class: "resumed", title: "The service was started again"});
    place(mark, share(time), share(time));
    return mark;
  }));
  return h("div", {class: "row"}, h("span", {class: "label"}, "restarts"), track);
}

function place(element, from, to) {
  element.style.left = `${from}%`;
  element.style.width = `max(3px, ${to - from}%)`;
}
