/* The files of the page languages: they have every message that the viewer uses, and no others. */

import assert from "node:assert/strict";
import {readdirSync, readFileSync} from "node:fs";
import {after, test} from "node:test";
import {choose, LANGUAGES, n, number, phrase, t, use} from "../../../api/viewer/lib/i18n.js";
import {plural, seconds} from "../../../api/viewer/lib/format.js";
import {read, SENTENCES} from "../../../api/viewer/lib/phrases.js";
import {messagesUsed, VIEWER} from "./messages.js";

const FOLDER = new URL("messages/", VIEWER);
const used = messagesUsed();
const files = Object.fromEntries(readdirSync(FOLDER).map((name) => [name.replace(".json", ""), JSON.parse(readFileSync(new URL(name, FOLDER), "utf8"))]));
const texts = (message) => (typeof message === "string" ? [message] : Object.values(message));
const values = (text) => [...new Set(text.match(/\{\w+\}/g))].sort();

after(() => use("en"));

test("every language but English has a file", () => {
  assert.deepEqual(Object.keys(files).sort(), LANGUAGES.map(([name]) => name).filter((name) => name !== "en").sort());
});

for (const [language, messages] of Object.entries(files)) {
  test(`${language} has every message that the viewer uses, and no others`, () => {
    assert.deepEqual(Object.keys(used).filter((name) => !(name in messages)), [], "missing");
    assert.deepEqual(Object.keys(messages).filter((name) => !(name in used)), [], "unknown");
  });

  test(`${language} has the values of each message, and a form for other numbers`, () => {
    for (const [name, message] of Object.entries(messages)) {
      for (const text of texts(message)) assert.deepEqual(values(text), values(name), name);
      if (used[name]) assert.ok(message.other, name);
      else assert.equal(typeof message, "string", name);
    }
  });
}

test("the viewer uses each message that a person sees in one way", () => {
  assert.ok(Object.keys(used).length > 1000);
  assert.deepEqual(used["{count} pages"], {one: "{count} page", other: "{count} pages"});
  assert.equal(used.Search, ""); // of the page
});

test("a message has its values, and stays English without a translation", () => {
  use("de", {"Signed in as {name}": "Angemeldet als {name}"});
  assert.equal(t("Signed in as {name}", {name: "Ada"}), "Angemeldet als Ada");
  assert.equal(t("No file of {name} and @{other}", {name: "Ada"}), "No file of Ada and @{other}");
  assert.deepEqual(phrase("Write {name}:", {name: 7}), ["Write ", 7, ":"]);
});

test("a number chooses the form of its message in the language", () => {
  use("en");
  assert.equal(plural(1, "page"), "1 page");
  assert.equal(plural(1200, "entry", "entries"), "1,200 entries");
  use("de", files.de);
  assert.equal(plural(1, "page"), "1 Seite");
  assert.equal(plural(1200, "page"), "1.200 Seiten");
  assert.equal(n(3, "{part} of {count} page", "{part} of {count} pages", {part: 1}), "1 of 3 pages");
  assert.equal(seconds(1.26), "1,3 s");
  use("ja", files.ja);
  assert.equal(plural(2, "page"), "2 ページ");
  use("ar", files.ar);
  assert.equal(number(1234.5), "1,234.5"); // with the digits of pages and quotes
});

test("the language is the kept one, else the first of the browser that has messages", () => {
  assert.equal(choose("", ["nl", "de-AT", "en"]), "de");
  assert.equal(choose("ar", ["de"]), "ar");
  assert.equal(choose("tlh", ["nl"]), "en");
});

test("a sentence of the server is read with its values", () => {
  assert.deepEqual({...read("Follows from 1 quote").values}, {count: "1"});
  assert.equal(read("Follows from 1 quote").text, "Follows from {count} quotes");
  assert.deepEqual({...read("Weak: 1 of 3 claims not supported").values}, {part: "1", count: "3"});
  assert.equal(read("word for word on page 36").values.page, "36");
  assert.equal(read("Names and figures found in its quotes; 1 of 1 claim not checked further"), null); // two sentences
  assert.equal(read("A sentence of a later version"), null);
  assert.ok(SENTENCES.every((sentence) => read(sentence.replace(/\{(count|part|page)\}/g, "2"))?.text === sentence));
});
