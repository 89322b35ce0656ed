/* A part of a parsed text with its headings, page breaks and highlighted quotes. */

import {failure, h} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {printedAs} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";
import {joined, offsetsIn, pipeCells, segments} from "../../lib/spans.js";

const STEP = 7200; // characters that are added at once

/**
 * Show a part of a text, with buttons for more of it. `marks` are spans of the whole text: {start, end, current, label}.
 * `more(start, limit)` returns another part.
 */
export function showPart(body, part, marks, more, name = t("the document")) {
  const end = part.start + [...part.text].length;
  const button = (label, start, limit) => h("button", {type: "button", class: "quiet", on: {click: () => widen(start, limit)}}, label);
  const widen = async (start, limit) => {
    try {
      const wider = await more(start, limit);
      if (body.isConnected) showPart(body, wider, marks, more, name);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      body.append(failure(error));
    }
  };
  const from = Math.max(0, part.start - STEP);
  body.replaceChildren(...[
    part.start > 0 && button(t("Show earlier text"), from, end - from),
    h("div", {class: "document", tabindex: "0", role: "region", "aria-label": t("Text of {name}", {name})}, textNodes(part, marks)),
    end < part.length && button(t("Show later text"), part.start, end - part.start + STEP),
  ].filter(Boolean));
}

/** Scroll to the current mark. */
export function revealMark(body) {
  body.querySelector("mark.current")?.scrollIntoView({block: "center"});
}

/** Return whether the part has this text at this span of the whole text. */
export function hasText(part, start, end, text) {
  const place = placeIn(part);
  return part.text.slice(place(start), place(end)) === text;
}

/** Return the text of a part as nodes. Lines with pipes become the rows of tables. */
export function textNodes(part, marks) {
  const place = placeIn(part);
  const local = ({start, end}) => ({start: place(start), end: place(end)});
  const breaks = part.pages.filter((page) => page.start > part.start).map((page) => ({...local({...page, end: page.start}), page: `${page.number}${printedAs(page.label)}`}));
  const headings = (part.blocks ?? []).filter((block) => block.kind === "heading").map((block) => ({...local(block), heading: true}));
  const quotes = marks.map((mark) => ({...local(mark), quote: mark})).filter((mark) => mark.end > mark.start);
  const nodes = segments(part.text, 0, part.text.length, [...quotes, ...headings, ...breaks, ...pipeCells(part.text)]).map((segment) => {
    const broken = breaks.find((each) => each.start === segment.start);
    const covering = segment.marks.filter((mark) => mark.quote).map((mark) => mark.quote);
    const words = covering.length
      ? h("mark", {class: covering.some((mark) => mark.current) ? "current" : "", title: covering.map((mark) => mark.label).filter(Boolean).join(" ") || null}, segment.text)
      : segment.text;
    const shown = [broken && h("span", {class: "page-break"}, t("page {page}", {page: broken.page})), segment.marks.some((mark) => mark.heading) ? h("strong", {class: "heading"}, words) : words];
    return {shown, cell: segment.marks.find((mark) => mark.isCell), inTable: segment.marks.some((mark) => mark.isTable)};
  });
  return inTables(nodes);
}

/** Return a quote as nodes, without the line breaks of its page. `most`: characters after which it is cut. */
export function quoteNodes(text, most = Infinity) {
  const cut = text.length > most ? `${text.slice(0, most)}…` : text;
  return textNodes({text: joined(cut), start: 0, pages: []}, []);
}

function inTables(nodes) {
  const tables = new Map(); // the elements of tables, by the rows of their text
  return nodes.flatMap(({shown, cell, inTable}) => {
    if (!cell) return inTable ? [] : shown;
    const {table, row, column} = cell;
    const known = tables.has(table);
    if (!known) tables.set(table, h("span", {class: "pipes", role: "table"}));
    const element = tables.get(table);
    while (element.childElementCount <= row) element.append(h("span", {role: "row"}));
    const line = element.children[row];
    while (line.childElementCount <= column) line.append(h("span", {role: cell.isHead ? "columnheader" : "cell"}));
    line.children[column].append(...shown.filter(Boolean));
    return known ? [] : [element];
  });
}

/** Return a function from offsets of the whole text to offsets in the string of the part. */
function placeIn(part) {
  const offset = offsetsIn(part.text);
  return (at) => offset(Math.max(0, at - part.start));
}
