/* The first event that differs between two runs, or between a run and its replay. */

import {h} from "../../lib/dom.js";
import {value} from "../tables.js";
import {t} from "../../lib/i18n.js";

/** `first` and `second` are the sides: {name, href}, with the URL of a step, or null if there is no page for it. */
export function differenceView(difference, first, second) {
  const {number, repeated_number: other, type, step, field, recorded, repeated} = difference;
  const side = ({name, href}, event, content, key) => h("div", {class: "card"},
    h("p", {class: "note"}, event ? t("{name}, event {event}", {name, event}) : t("{name} has no such event.", {name})),
    event && value(content, key),
    event && step && href && h("p", {}, h("a", {href: href(step)}, t("Open step {step}", {step}))));
  return [
    h("p", {}, `${type.replaceAll("_", " ")}${step ? ` ${t("in step {step}", {step})}` : ""}${field ? `: ${field}` : ""}`),
    h("div", {class: "two-runs"}, side(first, number, recorded, "recorded"), side(second, other, repeated, "repeated")),
  ];
}
