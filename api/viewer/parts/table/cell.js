/* A cell of a table: its text, its state, and its quotes with the cited page in the side panel. */

import {openQuote} from "../answer/evidence.js";
import {badge, h} from "../../lib/dom.js";
import {documentAddress, collectionOf, formatTime} from "../../lib/format.js";
import {number, said, t, term} from "../../lib/i18n.js";
import {openPanel, panel} from "../panel.js";

const PERSON = "person";

/** The value of a cell as a person writes it, or "". */
export function editableText(cell) {
  const value = cell?.value ?? "";
  if (typeof value === "boolean") return value ? "yes" : "no";
  return Array.isArray(value) ? value.join("; ") : String(value);
}

/** What the grid shows: the value, or why there is none. */
export function cellText(row, column) {
  const cell = row.cells[column.name];
  if (!cell) return "";
  if (cell.status !== "found") return cell.status === "failed" ? t("failed: {reason}", {reason: cell.reason}) : said(cell.reason);
  if (typeof cell.value === "boolean") return term(editableText(cell));
  return typeof cell.value === "number" ? number(cell.value, {maximumFractionDigits: 20}) : editableText(cell);
}

export function cellClass(row, column) {
  const cell = row.cells[column.name];
  return ["cell", `is-${cell?.status ?? "open"}`, typeof cell?.value === "number" && "number", cell?.by === PERSON && "by-hand", isOutdated(row, cell) && "is-outdated"].filter(Boolean).join(" ");
}

function isOutdated(row, cell) {
  return Boolean(cell) && cell.by !== PERSON && cell.version !== row.version;
}

/** Open a cell in the side panel: its value, why, and its quotes on their pages. `still`: the grid keeps the focus. */
export function openCell(table, row, column, {still, closed, actions}) {
  const cell = row.cells[column.name];
  const label = t("{column} of {row}", {column: column.name, row: row.name});
  const intro = h("div", {class: "cell-intro"}, about(table, row, column), h("p", {class: "export"}, actions));
  const quotes = (cell?.evidence ?? []).map((each, at) => ({...each, number: at + 1}));
  if (quotes.length) openQuote(quotes, 1, table.collection, {label, intro, still, closed});
  else openPanel({name: label, title: label, content: intro, still, closed});
  if (!still) panel.focus({preventScroll: true});
}

function about(table, row, column) {
  const cell = row.cells[column.name];
  const found = cell?.status === "found";
  return [
    h("p", {class: "note"}, column.question),
    found && h("p", {class: "short"}, cellText(row, column), column.unit && h("span", {class: "note"}, ` ${column.unit}`)),
    h("p", {class: "facts"}, !found && badge(cell?.status ?? t("not read yet")),
      [said(cell?.confidence ?? ""), cell && `${cell.by === PERSON ? t("by hand") : cell.by}, ${formatTime(cell.at)}`].filter(Boolean).map((each) => h("span", {}, each))),
    cell?.reason && h("p", {class: cell.status === "failed" ? "fault" : ""}, said(cell.reason)),
    isOutdated(row, cell) && h("p", {class: "note"}, t("The document has changed since. The next fill reads the cell again.")),
    !cell?.evidence.length && h("p", {}, h("a", {href: documentAddress(collectionOf(table.collection, {document: row.name, origin: null}), row.document)}, t("Open document"))),
  ];
}
