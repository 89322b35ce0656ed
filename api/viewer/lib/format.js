/* Formatting of numbers, times and events. */

import {locale, n, number, t} from "./i18n.js";

const UNITS = [t("bytes"), "kB", "MB", "GB"];

export function seconds(value) {
  if (value === null || value === undefined) return "";
  if (value === 0) return t("{count} s", {count: 0});
  if (value < 0.0995) return t("{count} ms", {count: Math.round(value * 1000)});
  if (value < 9.95) return t("{count} s", {count: decimal(value, 1)});
  if (value < 60) return t("{count} s", {count: Math.round(value)});
  const whole = Math.round(value);
  return t("{minutes} min {seconds} s", {minutes: Math.floor(whole / 60), seconds: whole % 60});
}

/** Return a number with a fixed count of decimals. */
export function decimal(value, digits) {
  return number(value, {minimumFractionDigits: digits, maximumFractionDigits: digits});
}

/** Return a number with its noun. Their message is "{count} nouns". */
export function plural(count, one, more = `${one}s`) {
  return n(count, `{count} ${one}`, `{count} ${more}`);
}

/** Return a number of bytes, such as "45.1 kB". */
export function fileSize(bytes) {
  const unit = Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3));
  return `${number(bytes / 1000 ** unit, {maximumFractionDigits: unit ? 1 : 0})} ${UNITS[unit]}`;
}

export function formatTime(iso) {
  return new Date(iso).toLocaleString(locale, {dateStyle: "medium", timeStyle: "short"});
}

/** Return the pages, with the numbers that are printed on them if these differ. */
export function pages(numbers, printed) {
  if (!numbers?.length) return "";
  const shown = numbers.length === 1 ? t("page {page}", {page: numbers[0]}) : t("pages {first}–{last}", {first: numbers[0], last: numbers.at(-1)});
  return `${shown}${printedAs(printed)}`;
}

/** Return the addition to a page number for a printed number, which may be missing. */
export function printedAs(label) {
  return label ? ` ${t("(printed {label})", {label})}` : "";
}

/** Return the place of a quote in its document: its pages or, without pages, the headings above it. */
export function placeIn(quote) {
  if (quote.pages?.length) return pages(quote.pages, quote.printed_pages);
  return quote.section?.length ? `§ ${quote.section.join(" › ")}` : "";
}

/** Return the source of a quote, which is a document, web page or tool. */
export function sourceName({origin, document}) {
  if (!origin) return document.startsWith("/") ? fileName(document) : document; // an older run has the path
  if (origin.kind === "caller") return document;
  if (origin.kind === "web") return t("web page {url}", {url: origin.url});
  return t("result of {tool}", {tool: `${origin.tool}${Object.keys(origin.arguments).length ? ` ${JSON.stringify(origin.arguments)}` : ""}`});
}

/** Return the names of the collections of a selection such as `mail+papers`. */
export function namesIn(selection) {
  return selection.split("+");
}

/** Return the collection of a quote. In a run over several, the name of its document begins with it. */
export function collectionOf(selection, {document, origin}) {
  return namesIn(selection).length > 1 && !origin ? document.split("/", 1)[0] : selection;
}

/** Return the address of a document in this page. */
export function documentAddress(collection, id) {
  return `#/documents/${encodeURIComponent(collection)}/${encodeURIComponent(id)}`;
}

/** Return the address of a span of a document: of a quote or a passage. */
export function documentPlace(collection, {document_id: id, start, end}) {
  return `${documentAddress(collection, id)}/at/${start}-${end}`;
}

export function fileName(path) {
  return path.split(/[\\/]/).at(-1);
}

export function tokens(usage) {
  return plural(usage.prompt_tokens + usage.completion_tokens, "token");
}

/** Return the cost, or false if it is unknown. */
export function costOf(usage) {
  return usage.cost > 0 && t("cost {cost}", {cost: decimal(usage.cost, 4)});
}

/** Return the text on one line, truncated. */
export function shorten(text, length = 160) {
  const line = String(text).replace(/\s+/g, " ").trim();
  return line.length > length ? `${line.slice(0, length - 1)}…` : line;
}

/** Return the first sentence of a message, which states the problem. The rest explains how to solve it. */
export function firstSentence(text) {
  const end = /[.!?](?=\s+[A-Z0-9`(])/.exec(text);
  return end ? text.slice(0, end.index + 1) : text;
}

/** Return the documents to which a search was limited, or "". */
export function within(documents) {
  return documents.length ? ` ${t("(in {documents})", {documents: documents.join(", ")})}` : "";
}

/** Return an event in words. */
export function eventLine({title, details}) {
  return [title, details].filter(Boolean).join(": ");
}

/** A doubt about a claim in words; empty for a supported one. Drafts and older runs only say whether it is supported. */
export function remark({verdict, stands, supported}) {
  if (verdict === "contradicted") return t("contradicts its quote");
  if (!(stands ?? supported)) return t("unsupported");
  return supported ? "" : t("not checked");
}
