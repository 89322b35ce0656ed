/* The messages of the viewer: those that its modules and its page use, and those of the server that it translates. */

import {readdirSync, readFileSync} from "node:fs";
import ts from "typescript";
import {SENTENCES} from "../../../api/viewer/lib/phrases.js";

export const VIEWER = new URL("../../../api/viewer/", import.meta.url);
const NOT_IN_MODULES = ["widget.js", "docs/start.js"];

/** Words of the server that `term` translates: states, kinds, verdicts, rights. */
const WORDS = `waiting, running, interrupted, answered, partial, needs clarification, insufficient, failed, cancelled, done, stopped,
  skipped, not run, completed, discovered, parsing, chunking, embedding, indexed, removed, reading, asking the model,
  waiting for the embedding model, storing, with warnings, not synced, synced, disabled, revoked, expired, collection, document, run,
  table, key, finished, unfinished, budget reached, right, wrong, not asked, run failed, answered what has no answer,
  unclear and not asked back, clear and asked back, not retrieved, retrieved but not extracted, extracted but not used,
  all there and not answered, computed wrongly, used and still not right, read, write, admin, ask, up, down, changed, added, moved,
  kept, gone, supervisor, planner, worker, tool, search, scan, weighted, majority, auto, fast, high, direct, not found,
  not in documents, system, user, assistant, text, number, date, choice, list, yes, no, built-in, custom`
  .split(",").map((word) => word.trim().replace(/^(unclear|clear|all there|used) and/, "$1, and"));

/** Return the messages by name: "" for a text, {one, other} for a number of things. */
export function messagesUsed() {
  const found = Object.fromEntries([...WORDS, "wrong, cause unknown"].map((word) => [word, ""]));
  for (const sentence of SENTENCES) found[sentence] = sentence.includes("{count}") ? {one: sentence, other: sentence} : "";
  for (const name of readdirSync(VIEWER, {recursive: true})) {
    if (name.endsWith(".js") && !NOT_IN_MODULES.includes(name)) Object.assign(found, ofModule(readFileSync(new URL(name, VIEWER), "utf8")));
  }
  return Object.assign(found, ofPage(readFileSync(new URL("index.html", VIEWER), "utf8")));
}

function ofModule(source) {
  const found = {};
  const text = (node) => (node && ts.isStringLiteralLike(node) ? node.text : null);
  const visit = (node) => {
    if (ts.isCallExpression(node)) {
      const [first, second, third] = node.arguments.map(text);
      const called = node.expression.getText();
      if (["t", "phrase"].includes(called) && first !== null) found[first] = "";
      if (called === "n" && third) found[third] = {one: second, other: third};
      if (called === "plural" && second) {
        const other = `{count} ${third ?? `${second}s`}`;
        found[other] = {one: `{count} ${second}`, other};
      }
    }
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("module.js", source, ts.ScriptTarget.Latest, true));
  return found;
}

function ofPage(html) {
  const texts = [...html.matchAll(/ data-t>([^<]+)</g), ...html.matchAll(/(?:aria-label|title)="([^"]+)"[^>]* data-t=/g)];
  return Object.fromEntries(texts.map(([, text]) => [text, ""]));
}
