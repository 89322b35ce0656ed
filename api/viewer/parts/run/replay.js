/* Replays an ended run from its journal, and shows the first difference with its cause. */

import * as api from "../../lib/api.js";
import {h, loading} from "../../lib/dom.js";
import {n, t} from "../../lib/i18n.js";
import {tryAction} from "../forms.js";
import {differenceView} from "./difference.js";

/** A button that replays the run, and its result. `href` returns the URL of a step. */
export function replayer(runId, href) {
  const result = h("div", {role: "status"});
  const button = h("button", {type: "button", "data-key": `replay ${runId}`, on: {click: async () => {
    button.disabled = true;
    await tryAction(result, async () => {
      result.replaceChildren(loading(t("Replaying")));
      result.replaceChildren(...resultView(await api.replayRun(runId), href));
    });
    button.disabled = false;
  }}}, t("Replay"));
  return h("section", {"aria-label": t("Replay"), class: "screen-only"}, h("h2", {}, t("Replay")),
    h("p", {class: "note"}, t("Repeats the run with the recorded responses and the present code, prompts and documents. Calls no model and no tool.")),
    button, result);
}

function resultView({same, events, difference, line, causes, not_compared: missing, error}, href) {
  if (same) return [h("p", {}, n(events, "The same {count} event, apart from times.", "The same {count} events, apart from times."))];
  const [first, ...others] = causes;
  return [
    error && h("p", {class: "fault"}, error),
    first && h("p", {}, h("strong", {}, t("Cause: {cause}", {cause: causeText(first)}))),
    missing.length > 0 && h("p", {}, t("The cause cannot be found: an earlier version of Candor stored the run without these. Not compared: {missing}.", {missing: missing.join(", ")})),
    difference && [h("h3", {}, t("First difference")), differenceView(difference, {name: t("Recorded"), href}, {name: t("Replay"), href: null})],
    line && [h("p", {class: "note"}, t("First differing line in the prompt of {caller}", {caller: line.caller})), h("pre", {}, `${t("Recorded:")} ${line.recorded}\n${t("Now:")}      ${line.repeated}`)],
    others.length > 0 && h("p", {class: "note"}, t("Also changed: {others}", {others: others.map(causeText).join("; ")})),
  ].flat(Infinity).filter(Boolean);
}

const causeText = ({kind, name, change}) => `${kind}: ${name} ${change}.`;
