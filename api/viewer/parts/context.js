/* What all agents know, as a step found it and as it left it. Lists grow by what is new in them; single values are
replaced; a passage that is read again counts as it was read last. */

import {fold, h} from "../lib/dom.js";
import {value} from "./tables.js";
import {many} from "../lib/format.js";

const SINGLE = ["inspection", "record_fields", "synthesis"];
const EACH = {evidence: ({document_id: id, start, end}) => `${id} ${start} ${end}`, chunks: ({id}) => id};

/** The fields of the context before an event: name → {value, by: [steps that wrote it]}. */
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

/** What a step read, each with how it stood then and who had written it. */
export function readView(model, step, href) {
  const context = contextBefore(model, step.turns[0].number);
  return step.reads.map((name) => {
    const found = context.get(name);
    if (!found) return h("p", {class: "note"}, `${said(name)}: not there yet`);
    return fold(`${step.key} read ${name}`, [said(name), sized(found.value), " ", h("span", {class: "note"}, `from ${found.by.map((each) => each.key).join(", ")}`)],
      () => [h("p", {class: "note"}, "Written by ", found.by.map((each, at) => [at > 0 && ", ", h("a", {href: href(each)}, each.key)])), value(found.value, `${step.key} read ${name}`)]);
  });
}

/** What a step changed: what came to each field, what left it, and what stayed. */
export function wroteView(model, step) {
  const writes = model.writes.filter((write) => write.step === step);
  return writes.map((write, at) => {
    const context = contextBefore(model, write.number);
    const {agent} = step.wrote[at];
    const names = Object.keys(write.wrote);
    return h("div", {class: "diff"}, writes.length > 1 && h("p", {}, h("strong", {}, agent)),
      names.length ? names.map((name) => field(name, change(name, context.get(name)?.value, write.wrote[name], write.wrote), `${step.key} wrote ${at} ${name}`))
        : h("p", {class: "note"}, "Nothing."));
  });
}

function change(name, before, it, wrote) {
  if (SINGLE.includes(name)) return {before, after: it, added: [], gone: [], kept: []};
  const idOf = EACH[name] ?? JSON.stringify;
  const read = new Set(name === "records" ? [...it.map((each) => each.chunk_id), ...(wrote.read ?? []).map((mark) => mark.split("/")[0])] : []);
  const kept = (before ?? []).filter((each) => !read.has(each.chunk_id));
  const gone = (before ?? []).filter((each) => read.has(each.chunk_id));
  const known = new Set(kept.map(idOf));
  const added = it.filter((each) => !known.has(idOf(each))).map(unnumbered);
  return {before, after: [...kept, ...added], added, gone, kept};
}

function field(name, {before, after, added, gone, kept}, key) {
  if (SINGLE.includes(name)) {
    return [
      before && fold(`${key} before`, [sign("−"), said(name), " as it was"], () => value(before, `${key} before`)),
      fold(key, [sign("+"), said(name), sized(after)], () => value(after, key)),
    ];
  }
  return [
    gone.length > 0 && fold(`${key} gone`, [sign("−"), said(name), ` (${gone.length})`], () => value(gone, `${key} gone`)),
    added.length > 0 && fold(key, [sign("+"), said(name), ` (${added.length})`], () => value(added, key)),
    kept.length > 0 && fold(`${key} kept`, [sign("="), said(name), ` (${kept.length}, as before)`], () => value(kept, `${key} kept`)),
    !gone.length && !added.length && !kept.length && h("p", {class: "note"}, `${said(name)}: nothing`),
  ];
}

/** A quote is numbered among all that are found, when the answer is written. */
function unnumbered(it) {
  return it.quote && it.document_id ? {...it, number: null} : it;
}

function sign(mark) {
  return h("span", {class: `sign is-${{"+": "added", "−": "gone", "=": "kept"}[mark]}`}, `${mark} `);
}

function said(name) {
  return name.replaceAll("_", " ");
}

function sized(it) {
  return Array.isArray(it) ? ` (${many(it.length, "entry", "entries")})` : "";
}
