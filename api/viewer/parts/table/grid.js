/* The grid of a table: rows of documents, columns of questions, with the keys of a spreadsheet. */

import {h} from "../../lib/dom.js";
import {plural} from "../../lib/format.js";
import {t, term} from "../../lib/i18n.js";
import {cellClass, cellText, editableText} from "./cell.js";

const FIRST_ROWS = 500;
const MOVES = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [-10, 0], PageDown: [10, 0], Home: [0, -Infinity], End: [0, Infinity]};
const FAR = {ArrowUp: [-Infinity, 0], ArrowDown: [Infinity, 0], ArrowLeft: [0, -Infinity], ArrowRight: [0, Infinity], Home: [-Infinity, -Infinity], End: [Infinity, Infinity]}; // with Ctrl

export class Grid {
  /**
   * `select(row, column)` is called when another cell is selected, `open(row, column)` when the selected cell is opened,
   * `save(row, column, text)` to edit a cell; it returns whether that succeeded. Without `save`, cells cannot be edited.
   */
  constructor({select, open, save = null}) {
    this.select = select; this.open = open; this.save = save;
    this.table = null; this.rows = []; this.shown = []; this.limit = FIRST_ROWS;
    this.at = null; // [id of a document, name of a column]
    this.words = ""; this.order = {name: "", sign: 1}; // the column that sorts the rows, and 1 or -1
    this.frame = h("div", {class: "grid-frame", on: {
      keydown: (event) => this.onKey(event), focusin: ({target}) => this.focused(target),
      click: ({target}) => this.opened(target), dblclick: ({target}) => this.edit(target.closest("td")),
    }});
    this.rest = h("button", {type: "button", hidden: true, on: {click: () => { this.limit = Infinity; this.draw(); }}}, t("Show all rows"));
    this.element = h("div", {}, this.frame, this.rest);
  }

  /** Show a table with its rows. Cells that have not changed stay as they are. */
  update({table, rows}) {
    const same = JSON.stringify(table) === JSON.stringify(this.table) && rows.length === this.rows.length && rows.every((row, at) => row.document === this.rows[at].document);
    this.table = table; this.rows = rows;
    if (!same || this.order.name || this.words) {
      this.draw();
      return;
    }
    const known = new Map(rows.map((row) => [row.document, row]));
    this.shown = this.shown.map((row) => known.get(row.document));
    for (const [at, row] of this.shown.entries()) for (const [on, column] of table.columns.entries()) fillCell(this.cellAt(at, on), row, column);
  }

  /** Show only the rows with these words in a name or a value. */
  filter(words) {
    this.words = words.trim().toLowerCase();
    this.draw();
  }

  draw() {
    const {columns} = this.table;
    if (this.editing) return; // the rows are sorted again when the cell is done
    const focused = this.frame.contains(document.activeElement);
    const found = this.sorted().filter((row) => !this.words || [row.name, ...columns.map((column) => cellText(row, column))].join("\n").toLowerCase().includes(this.words));
    this.shown = found.slice(0, this.limit);
    this.rest.hidden = found.length <= this.limit;
    this.frame.replaceChildren(h("table", {role: "grid", "aria-label": t("Cells of {name}", {name: this.table.name}), "aria-rowcount": found.length + 1},
      h("thead", {}, h("tr", {}, h("th", {scope: "col"}, plural(found.length, "document")), columns.map((column) => this.headOf(column)))),
      h("tbody", {}, this.shown.map((row) => h("tr", {}, h("th", {scope: "row", title: row.name}, row.name),
        columns.map((column) => fillCell(h("td", {tabindex: -1}), row, column)))))));
    const [row, column] = this.position();
    const current = this.cellAt(row, column);
    if (!current) return;
    current.tabIndex = 0;
    if (focused) current.focus({preventScroll: true});
  }

  get editing() {
    return this.frame.querySelector("td [name=value]") !== null;
  }

  headOf(column) {
    const {name, sign} = this.order;
    const sorted = name === column.name;
    return h("th", {scope: "col", title: column.question, "aria-sort": sorted ? (sign > 0 ? "ascending" : "descending") : null},
      h("button", {type: "button", class: "quiet", on: {click: () => {
        this.order = !sorted ? {name: column.name, sign: 1} : sign > 0 ? {name, sign: -1} : {name: "", sign: 1};
        this.draw();
      }}}, column.name, h("span", {"aria-hidden": "true"}, sorted ? (sign > 0 ? " ↑" : " ↓") : "")),
      h("span", {class: "note"}, column.unit || (column.type === "yes_no" ? t("yes or no") : term(column.type))));
  }

  /** The rows in the chosen order; rows without a value last. */
  sorted() {
    const {name, sign} = this.order;
    const valueIn = (row) => row.cells[name]?.value ?? null;
    const compare = (first, second) => (typeof first === "string" ? first.localeCompare(second) : first < second ? -1 : Number(first > second));
    if (!name) return this.rows;
    const filled = this.rows.filter((row) => valueIn(row) !== null).sort((one, other) => sign * compare(valueIn(one), valueIn(other)));
    return [...filled, ...this.rows.filter((row) => valueIn(row) === null)];
  }

  cellAt(row, column) {
    return this.frame.querySelector("tbody")?.rows[row]?.cells[column + 1] ?? null;
  }

  /** The place of the selected cell among the shown rows; the first cell if it is not shown. */
  position() {
    const [id, name] = this.at ?? [];
    return [this.shown.findIndex((row) => row.document === id), this.table.columns.findIndex((column) => column.name === name)].map((at) => Math.max(0, at));
  }

  /** The row and the column of an element of a cell; null for any other element. */
  placeOf(element) {
    const cell = element?.closest("td");
    return cell && [this.shown[cell.parentElement.sectionRowIndex], this.table.columns[cell.cellIndex - 1]];
  }

  focused(target) {
    const [row, column] = this.placeOf(target) ?? [];
    if (!row || (this.at?.[0] === row.document && this.at[1] === column.name)) return;
    for (const each of this.frame.querySelectorAll("td[tabindex='0']")) each.tabIndex = -1;
    target.closest("td").tabIndex = 0;
    this.at = [row.document, column.name];
    this.select(row, column);
  }

  opened(target) {
    const place = !target.closest("[name=value]") && this.placeOf(target);
    if (place) this.open(...place, true);
  }

  onKey(event) {
    const cell = event.target.closest("td");
    if (!cell || event.target !== cell || event.altKey || event.metaKey) return;
    if (event.key === "Enter") this.open(...this.placeOf(cell), false);
    else if ((event.key === "e" && !event.ctrlKey) || event.key === "F2") this.edit(cell);
    else if (event.key in MOVES) this.move(event.key, event.ctrlKey);
    else return;
    event.preventDefault();
  }

  move(key, far) {
    const [down, aside] = far && FAR[key] ? FAR[key] : MOVES[key];
    const right = key.startsWith("Arrow") && document.dir === "rtl" ? -aside : aside;
    const [row, column] = this.position();
    const clamp = (at, count) => Math.min(Math.max(at, 0), count - 1);
    const cell = this.cellAt(clamp(row + down, this.shown.length), clamp(column + right, this.table.columns.length));
    cell.focus({preventScroll: true});
    cell.scrollIntoView({block: "nearest", inline: "nearest"});
  }

  editAt(row, column) {
    this.at = [row.document, column.name];
    this.edit(this.cellAt(...this.position()));
  }

  /** Replace the text of a cell by a field. Enter and leaving the field save, Esc cancels. */
  edit(cell) {
    if (!cell || !this.save || cell.querySelector("[name=value]")) return;
    const [row, column] = this.placeOf(cell);
    const before = editableText(row.cells[column.name]);
    const input = editor(column, before);
    let ended = false;
    const end = async (keep, key = "") => {
      if (ended) return;
      ended = true;
      const text = input.value.trim();
      if (keep && text !== before && !await this.save(row, column, text || null)) {
        ended = false; // what was typed stays, below the error
        input.setAttribute("aria-invalid", "true");
        return;
      }
      const focused = document.activeElement === input || document.activeElement === document.body;
      input.remove();
      fillCell(cell, this.rows.find(({document: id}) => id === row.document) ?? row, column, true);
      if (focused || key) cell.focus({preventScroll: true});
      if (key) this.move(key, false);
      if (this.order.name || this.words) this.draw();
    };
    input.addEventListener("blur", () => end(true));
    input.addEventListener("keydown", (event) => {
      event.stopPropagation();
      const key = {Enter: "ArrowDown", Tab: event.shiftKey ? "ArrowLeft" : "ArrowRight"}[event.key];
      if (event.key === "Escape") end(false);
      else if (key) {
        event.preventDefault();
        end(true, key);
      }
    });
    cell.replaceChildren(input);
    input.focus();
  }
}

function editor({name, type, choices}, value) {
  const props = {name: "value", "aria-label": name};
  const known = type === "yes_no" ? ["yes", "no"] : choices;
  if (known?.length) return h("select", props, ["", ...known].map((each) => h("option", {value: each, selected: each === value}, each ? term(each) : t("empty"))));
  return h("input", {...props, value, type: type === "date" ? "date" : "text"});
}

/** Show what a cell has. `again`: also if it has not changed. */
function fillCell(cell, row, column, again = false) {
  const mark = `${row.cells[column.name]?.at} ${row.version}`;
  if ((cell.dataset.mark === mark && !again) || cell.querySelector("[name=value]")) return cell;
  cell.dataset.mark = mark;
  cell.className = cellClass(row, column);
  cell.replaceChildren(h("span", {}, cellText(row, column)));
  return cell;
}
