/* The timeline of a run: steps as bars, with their model calls; parallel calls get lanes of their own. */

import {h} from "../../lib/dom.js";
import {statusOf} from "../../lib/model.js";
import {plural, seconds, shorten} from "../../lib/format.js";
import {t, term} from "../../lib/i18n.js";

const SLOTS = 400; // model calls in the same slot are drawn as one
const LANES = 5; // parallel calls drawn separately
const LANE_REM = 0.5;

/** `href` returns the URL of a step; `open` gets the event number of the chosen model call. */
export function timeline(run, now, over, href, open) {
  const began = run.began;
  const length = Math.max((run.ended ?? now) - began, 1);
  const share = (time) => Math.min(100, Math.max(0, ((time - began) / length) * 100));
  const planning = run.panel.calls.length > 0 && row(h("span", {}, t("supervisor")), null, run.panel.calls, share, open);
  const rows = run.steps.filter((step) => step.startedAt).map((step) => {
    const status = statusOf(step, over || step.attempt < run.attempts.length);
    const end = step.endedAt ?? run.ended ?? now;
    const bar = h("span", {class: `bar is-${status.replace(" ", "-")}`, title: `${term(status)}, ${seconds((end - step.startedAt) / 1000)}`});
    setSpan(bar, share(step.startedAt), share(end));
    return row(h("a", {href: href(step), "data-key": `row ${step.key}`}, shorten(step.key, 26)), bar, step.calls, share, open);
  });
  return h("div", {class: "timeline"},
    planning, rows, run.resumed.length > 0 && restarts(run.resumed, share),
    h("div", {class: "scale", "aria-hidden": "true"}, [0, 0.25, 0.5, 0.75, 1].map((part) => h("span", {}, seconds((length * part) / 1000)))));
}

function row(label, bar, calls, share, open) {
  const drawn = inLanes(inSlots(calls, share));
  const track = h("span", {class: "track", title: calls.length ? plural(calls.length, "model call") : ""}, bar, drawn.map((each) => callBar(each, open)));
  track.style.height = `${Math.max(1.05, (1 + Math.max(0, ...drawn.map(({lane}) => lane))) * LANE_REM + 0.4)}rem`;
  return h("div", {class: "row"}, h("span", {class: "label"}, label), track);
}

function callBar({from, to, calls, lane}, open) {
  const [{caller, usage, replayed, failed, number}] = calls;
  const label = calls.length > 1 ? plural(calls.length, "model call") : `${caller}, ${replayed ? t("from the journal") : seconds(usage.seconds)}`;
  const bar = h("button", { // keyboard users reach calls through the event list
    type: "button", tabindex: "-1", class: failed ? "call failed" : "call", title: label, "aria-label": label, on: {click: () => open(number)},
  });
  setSpan(bar, from, to);
  bar.style.top = `${0.33 + lane * LANE_REM}rem`;
  return bar;
}

/** Group the calls by slot. */
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

/** Put each call into the first free lane; without a free one, into the last. */
function inLanes(placed) {
  const ends = [];
  return placed.sort((a, b) => a.from - b.from).map((each) => {
    const free = ends.findIndex((end) => end <= each.from);
    const lane = free >= 0 ? free : Math.min(ends.length, LANES - 1);
    ends[lane] = each.to;
    return {...each, lane};
  });
}

/** Marks for restarts of the service during the run. */
function restarts(times, share) {
  const track = h("span", {class: "track"}, times.map((time) => {
    const mark = h("span", {class: "resumed", title: t("Service restarted")});
    setSpan(mark, share(time), share(time));
    return mark;
  }));
  return h("div", {class: "row"}, h("span", {class: "label"}, t("restarts")), track);
}

function setSpan(element, from, to) {
  element.style.left = `${from}%`;
  element.style.width = `max(3px, ${to - from}%)`;
}
