/* What a run waits for: the model call in progress, its time against the estimate, and the speed of earlier calls. */

import {h} from "../../lib/dom.js";
import {decimal, plural, seconds} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";

/** The line of a run that works; null for one that is over. */
export function waiting({model, over}, now = Date.now()) {
  if (over || !model.events.length) return null;
  const {open} = model;
  const speed = speedOf([model.panel, ...model.steps].flatMap((step) => step.calls));
  if (!open.length) return h("p", {class: "waiting facts", role: "timer"}, h("span", {}, model.found.length ? t("Working") : t("Searching")), speed);
  const [{caller, model: asked, at, expected_seconds: expected}] = open;
  const elapsed = Math.max(0, Math.round((now - at) / 1000));
  return h("div", {class: "waiting", role: "timer"},
    h("p", {class: "facts"},
      h("span", {}, t("{caller} asks {asked}", {caller, asked})), h("span", {}, seconds(elapsed)),
      h("span", {}, timeLeft(expected, elapsed)),
      open.length > 1 && h("span", {}, t("{count} calls at once", {count: open.length})), speed),
    expected >= 1 && h("progress", {max: expected, value: Math.min(elapsed, expected), "aria-label": t("Time of this call against the estimate")}));
}

function timeLeft(expected, elapsed) {
  if (expected === null) return t("no estimate before the first call ends");
  const left = Math.round(expected - elapsed);
  return left >= 1 ? t("about {time} left", {time: seconds(left)}) : t("longer than usual ({time})", {time: seconds(expected)});
}

/** Completion tokens per second of the calls that the model answered, including the time to read their prompts. */
function speedOf(calls) {
  const usages = calls.filter(({replayed, failed}) => !replayed && !failed).map(({usage}) => usage);
  const total = (name) => usages.reduce((sum, usage) => sum + usage[name], 0);
  if (!total("seconds")) return null;
  const rate = total("completion_tokens") / total("seconds");
  return h("span", {title: plural(usages.length, "finished call")}, t("{rate} tokens/s", {rate: decimal(rate, rate < 10 ? 1 : 0)}));
}
