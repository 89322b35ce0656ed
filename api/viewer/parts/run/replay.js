/* Replays an ended run from its journal, and shows the first difference with its cause. */

import * as api from "../../lib/api.js";
import {h, loading} from "../../lib/dom.js";
import {plural} from "../../lib/format.js";
import {tryAction} from "../forms.js";
import {differenceView} from "./difference.js";

/** A button that replays the run, and its result. `href` returns the URL of a step. */
export function replayer(runId, href) {
  const result = h("div", {role: "status"});
  const button = h("button", {type: "button", "data-key": `replay ${runId}`, on: {click: async () => {
    button.disabled = true;
    await tryAction(result, async () => {
      result.replaceChildren(loading("Replaying"));
      result.replaceChildren(...resultView(await api.replayRun(runId), href));
    });
    button.disabled = false;
  }}}, "Replay");
  return h("section", {"aria-label": "Replay", class: "screen-only"}, h("h2", {}, "Replay"),
    h("p", {class: "note"}, "Repeats the run with the recorded responses and the present code, prompts and documents. Calls no model and no tool."),
    button, result);
}

function resultView({same, events, difference, line, causes, not_compared: missing, error}, href) {
  if (same) return [h("p", {}, `The same ${plural(events, "event")}, apart from times.`)];
  const [first, ...others] = causes;
  return [
    error && h("p", {class: "fault"}, error),
    first && h("p", {}, h("strong", {}, `Cause: ${causeText(first)}`)),
    missing.length > 0 && h("p", {}, `The cause cannot be found: an earlier version of Candor stored the run without these. Not compared: ${missing.join(", ")}.`),
    difference && [h("h3", {}, "First difference"), differenceView(difference, {name: "Recorded", href}, {name: "Replay", href: null})],
    line && [h("p", {class: "note"}, `First differing line in the prompt of ${line.caller}`), h("pre", {}, `Recorded: ${line.recorded}\nNow:      ${line.repeated}`)],
    others.length > 0 && h("p", {class: "note"}, `Also changed: ${others.map(causeText).join("; ")}`),
  ].flat(Infinity).filter(Boolean);
}

const causeText = ({kind, name, change}) => `${kind}: ${name} ${change}.`;
