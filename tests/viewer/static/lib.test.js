/* The viewer's modules without a DOM. Pages are tested in a browser (`tests/viewer`). */

import assert from "node:assert/strict";
import {test} from "node:test";
import {collectionOf, fileSize, firstSentence, remark, seconds, shorten} from "../../../api/viewer/lib/format.js";
import {columns, RunModel, sum} from "../../../api/viewer/lib/model.js";
import {joined, offsetsIn, pipeCells, segments} from "../../../api/viewer/lib/spans.js";
import {messages} from "../../../api/viewer/lib/sse.js";

const usage = (tokens) => ({model_calls: 1, prompt_tokens: tokens, cached_tokens: 0, completion_tokens: 0, seconds: 1, cost: 0});
const event = (number, body, step = "find") => ({number, at: "2026-01-01T00:00:00Z", step, body});

async function read(...chunks) {
  const encoder = new TextEncoder();
  const body = ReadableStream.from(chunks.map((chunk) => typeof chunk === "string" ? encoder.encode(chunk) : chunk));
  return Array.fromAsync ? Array.fromAsync(messages(body)) : collect(messages(body));
}

async function collect(items) {
  const found = [];
  for await (const item of items) found.push(item);
  return found;
}

test("an event arrives whole, however the stream is cut", async () => {
  assert.deepEqual(await read("data: a", "b\n", "\ndata: c\n\n", ": keep-alive\n\n", "data: cut"), ["ab", "c", ""]);
  const bytes = new TextEncoder().encode("data: ü\n\n");
  assert.deepEqual(await read(bytes.slice(0, 7), bytes.slice(7)), ["ü"]);
});

test("lines of one event are joined", async () => {
  assert.deepEqual(await read("id: 4\ndata: one\ndata: two\n\n"), ["one\ntwo"]);
});

test("a retried call that the journal answered is counted once", () => {
  const run = new RunModel();
  const call = {type: "model_called", key: "k", occurrence: 0, caller: "Reader", usage: usage(5)};
  run.add([event(1, call), event(2, call), event(3, {...call, occurrence: 1})]);
  assert.equal(run.usage.prompt_tokens, 10);
  assert.equal(run.steps[0].calls.length, 3);
});

test("a resumed run starts over and keeps its events", () => {
  const run = new RunModel();
  run.add([event(1, {type: "model_called", key: "k", occurrence: 0, usage: usage(5)}), event(2, {type: "run_resumed"}, "")]);
  assert.equal(run.events.length, 2);
  assert.equal(run.usage.prompt_tokens, 0);
  assert.equal(run.resumed.length, 1);
});

test("an event of an unknown type changes no figure", () => {
  const run = new RunModel();
  run.add([event(1, {type: "of a later version"})]);
  assert.equal(run.steps[0].events.length, 1);
});

test("steps stand in the column after the last step that they wait for", () => {
  const step = (id, ...needs) => ({id, needs, instruction: "", inputs: {}});
  const shown = columns([step("a"), step("b", "a"), step("c"), step("d", "b", "c")]);
  assert.deepEqual(shown.map((column) => column.map(({id}) => id)), [["a", "c"], ["b"], ["d"]]);
});

test("usages add up", () => {
  assert.equal(sum([usage(2), usage(3)]).prompt_tokens, 5);
  assert.equal(sum([]).prompt_tokens, 0);
});

test("offsets count characters as Python does", () => {
  const text = "a𝄞b";
  assert.equal(text.slice(offsetsIn(text)(2)), "b");
});

test("marks cut the text into pieces that together are the text", () => {
  const text = "The Borea 12 works down to -22 °C.";
  const pieces = segments(text, 0, text.length, [{start: 4, end: 12}]);
  assert.equal(pieces.map((piece) => piece.text).join(""), text);
});

test("numbers, sizes and times are rounded once", () => {
  assert.equal(seconds(0.0994), "99 ms");
  assert.equal(seconds(9.96), "10 s");
  assert.equal(seconds(119.6), "2 min 0 s");
  assert.equal(fileSize(999), "999 bytes");
  assert.equal(fileSize(45_123), "45.1 kB");
});

test("an error is cut after its first sentence, not within a number", () => {
  assert.equal(firstSentence("It took 2.5 s. Try again."), "It took 2.5 s.");
  assert.equal(shorten("a\n b", 3), "a b");
});

test("a document of several collections is shown in its own", () => {
  assert.equal(collectionOf("mail+papers", {document: "papers/a.pdf"}), "papers");
  assert.equal(collectionOf("papers", {document: "a.pdf"}), "papers");
});

test("a claim says when its quote contradicts it, and when nobody checked it", () => {
  assert.equal(remark({verdict: "contradicted"}), "contradicts its quote");
  assert.equal(remark({verdict: "not_checked", stands: true, supported: false}), "not checked");
  assert.equal(remark({stands: true, supported: true}), "");
});

test("rows with pipes are the cells of tables, and a rule below the first makes it the head", () => {
  const text = "Noise\n| Model | dB |\n| --- | ---: |\n| Borea \\| 12 | 53 |\n\n| alone | row |";
  const cells = pipeCells(text).filter((mark) => mark.isCell);
  assert.deepEqual(cells.map(({start, end, row, column, isHead}) => [text.slice(start, end).trim(), row, column, isHead]),
    [["Model", 0, 0, true], ["dB", 0, 1, true], ["Borea \\| 12", 1, 0, false], ["53", 1, 1, false], ["alone", 0, 0, false], ["row", 0, 1, false]]);
  assert.equal(new Set(cells.map(({table}) => table)).size, 2);
  assert.deepEqual(pipeCells("a | b\nc"), []);
  assert.deepEqual(pipeCells("| a | b |\n| c | d…").filter((mark) => mark.isCell).map(({row, column}) => [row, column]), [[0, 0], [0, 1], [1, 0], [1, 1]]);
});

test("lines of paragraphs are joined, but not those of lists and tables", () => {
  assert.equal(joined("The pump works\ndown to -25 °C.\n\nA new paragraph\n- one\n- two\n| a |\n| b |"), "The pump works down to -25 °C.\n\nA new paragraph\n- one\n- two\n| a |\n| b |");
});
