/* The shared context before and after a step. New entries are appended to lists, single values are replaced, and the
results of a passage that is read again replace the earlier ones. */

import {fold, h} from "../../lib/dom.js";
import {value} from "../tables.js";
import {plural} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";

const SINGLE_VALUES = ["inspection", "record_fields", "synthesis"];
const ENTRY_ID = {evidence: ({document_id: id, start, end}) => `${id} ${start} ${end}`, chunks: ({id}) => id};

/** Return the context before an event: name → {value, by: [steps that wrote it]}. */
export function contextBefore(model, number) {
  const context = new Map();
  for (const write of model.writes) {
    if (write.number >= number) break;
    for (const [name, it] of Object.entries(write.wrote)) {
      const known = context.get(name);
      const by = [...new Set([...(known?.by ?? []), write.step])];
      context.set(name, {value: change(name, known?.value, it, write.wrote).after, by});
    }
  }
  return context;
}

/** The fields that a step read, with their values at that time and the steps that wrote them. */
export function readView(model, step, href) {
  const context = contextBefore(model, step.turns[0].number);
  return step.reads.map((name) => {
    const found = context.get(name);
    if (!found) return h("p", {class: "note"}, t("{name}: not set", {name: label(name)}));
    return fold(`${step.key} read ${name}`, [label(name), sized(found.value), " ", h("span", {class: "note"}, t("from {by}", {by: found.by.map((each) => each.key).join(", ")}))],
      () => [h("p", {class: "note"}, t("Written by"), " ", found.by.map((each, at) => [at > 0 && ", ", h("a", {href: href(each)}, each.key)])), value(found.value, `${step.key} read ${name}`)]);
  });
}

/** The fields that a step changed: entries added, removed and kept. */
export function wroteView(model, step) {
  const writes = model.writes.filter((write) => write.step === step);
  return writes.map((write, at) => {
    const context = contextBefore(model, write.number);
    const {agent} = step.wrote[at];
    const names = Object.keys(write.wrote);
    return h("div", {class: "diff"}, writes.length > 1 && h("p", {}, h("strong", {}, agent)),
      names.length ? names.map((name) => field(name, change(name, context.get(name)?.value, write.wrote[name], write.wrote), `${step.key} wrote ${at} ${name}`))
        : h("p", {class: "note"}, t("Nothing.")));
  });
}

function change(name, before, it, wrote) {
  if (SINGLE_VALUES.includes(name)) return {before, after: it, added: [], gone: [], kept: []};
  const idOf = ENTRY_ID[name] ?? JSON.stringify;
  const read = new Set(name === "records" ? [...it.map((each) => each.chunk_id), ...(wrote.read ?? []).map((mark) => mark.split("/")[0])] : []);
  const kept = (before ?? []).filter((each) => !read.has(each.chunk_id));
  const gone = (before ?? []).filter((each) => read.has(each.chunk_id));
  const known = new Set(kept.map(idOf));
  const added = it.filter((each) => !known.has(idOf(each))).map(unnumbered);
  return {before, after: [...kept, ...added], added, gone, kept};
}

function field(name, {before, after, added, gone, kept}, key) {
  if (SINGLE_VALUES.includes(name)) {
    return [
      before && fold(`${key} before`, [sign("−"), label(name), ` ${t("before")}`], () => value(before, `${key} before`)),
      fold(key, [sign("+"), label(name), sized(after)], () => value(after, key)),
    ];
  }
  return [
    gone.length > 0 && fold(`${key} gone`, [sign("−"), label(name), ` (${gone.length})`], () => value(gone, `${key} gone`)),
    added.length > 0 && fold(key, [sign("+"), label(name), ` (${added.length})`], () => value(added, key)),
    kept.length > 0 && fold(`${key} kept`, [sign("="), label(name), ` ${t("({count} unchanged)", {count: kept.length})}`], () => value(kept, `${key} kept`)),
    !gone.length && !added.length && !kept.length && h("p", {class: "note"}, t("{name}: nothing", {name: label(name)})),
  ];
}

/** Quotes get their numbers when the answer is written, so they are compared without. */
function unnumbered(it) {
  return it.quote && it.document_id ? {...it, number: null} : it;
}

function sign(mark) {
  return h("span", {class: `sign is-${{"+": "added", "−": "gone", "=": "kept"}[mark]}`}, `${mark} `);
}

function label(name) {
  return name.replaceAll("_", " ");
}

function sized(it) {
  return Array.isArray(it) ? ` (${plural(it.length, "entry", "entries")})` : "";
}
