/* One table: a grid whose cells arrive while one watches, and the quotes of the selected cell in the side panel. */

import * as api from "../lib/api.js";
import {badge, fold, h, replace} from "../lib/dom.js";
import {plural} from "../lib/format.js";
import {n, number, t} from "../lib/i18n.js";
import {saveFile} from "../lib/save-file.js";
import {may} from "../lib/session.js";
import {modelOptions} from "../parts/agent-forms.js";
import {inWords} from "../parts/filters.js";
import {choice, confirmButton, TO_BIN, tryAction} from "../parts/forms.js";
import {isOpen, JobWatch} from "../parts/jobs.js";
import {showLoaded} from "../parts/loaded.js";
import {hasRoom, panel} from "../parts/panel.js";
import {openCell} from "../parts/table/cell.js";
import {columnFields} from "../parts/table/columns.js";
import {Grid} from "../parts/table/grid.js";

const FORMATS = [["xlsx", "Excel"], ["csv", "CSV"], ["md", "Markdown"], ["json", "JSON"]];
const SELECT_MS = 120; // before the quotes of a cell are fetched, so that held arrow keys fetch few
const CLICK_MS = 300; // before a click opens the panel, which moves the cells: a double click edits
const REFRESH_MS = 1000; // at least between two requests while cells arrive

export function showTable(container, name) {
  let view = null;
  const page = showLoaded(container, name, () => Promise.all([api.table(name), api.openJobs("table"), api.endpoints()]), ([data, jobs, endpoints]) => {
    view?.close();
    view = new TableView(name, endpoints, data);
    view.begin(jobs.find(({id}) => id.replace(/_fill(-\d+)?$/, "") === `table_${name}`));
    return view.elements;
  });
  return {close: () => {
    view?.close();
    page.close();
  }};
}

class TableView {
  constructor(name, endpoints, data) {
    this.name = name; this.watch = null; this.closed = false; this.timer = 0; this.refreshed = this.shown = 0; this.selected = null; this.again = 0;
    this.facts = h("p", {class: "facts", role: "status"});
    this.fillBar = h("div", {class: "inline"});
    this.work = h("div", {});
    this.errorBox = h("div", {});
    this.body = h("div", {});
    this.elements = [h("p", {class: "note"}, h("a", {href: "#/tables"}, t("Tables"))), h("h1", {}, name), this.errorBox, this.body];
    this.draw(data, endpoints);
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    clearTimeout(this.again);
    this.watch?.close();
  }

  /** Follow the fill under way, or offer one. */
  begin(job) {
    if (job) this.follow(job);
    else this.act(() => this.offerFill());
  }

  draw(data, endpoints) {
    const {collection} = data.table;
    const write = may("write", collection);
    this.grid = new Grid({
      select: (row, column) => this.selectCell(row, column),
      open: (row, column, clicked) => (clicked && panel.hidden ? this.selectCell(row, column, CLICK_MS) : this.openCell(row, column, clicked && hasRoom())),
      save: write ? (row, column, value) => this.save(row, column, value) : null,
    });
    this.model = endpoints.length > 1 ? choice("model", modelOptions(endpoints)) : null;
    this.model?.setAttribute("aria-label", t("Model"));
    const find = h("input", {type: "search", placeholder: t("Find rows"), "aria-label": t("Find rows"), "data-slash": true, on: {input: () => this.grid.filter(find.value)}});
    this.body.replaceChildren(...[
      this.facts, this.work,
      h("div", {class: "find"}, find, this.fillBar, this.model,
        h("span", {class: "export"}, h("span", {class: "note"}, t("Save as")), FORMATS.map(([format, label]) => h("button", {type: "button", class: "quiet", on: {click: () => this.act(async () => saveFile(await api.exportTable(this.name, format)))}}, label))),
        write && confirmButton(t("Delete table"), "delete", () => this.act(async () => {
          await api.removeTable(this.name);
          location.hash = "#/tables";
        }), t("Deletes the table “{name}” with all its cells. The documents stay. {bin}", {name: this.name, bin: TO_BIN}))),
      this.grid.element,
      write && this.newColumns(endpoints),
    ].filter(Boolean));
    this.show(data);
    const [row] = this.grid.shown;
    if (hasRoom() && row && Object.keys(row.cells).length) this.openCell(row, data.table.columns[0], true);
  }

  newColumns(endpoints) {
    return fold("columns", t("Add columns"), () => {
      const columns = columnFields();
      return h("form", {on: {submit: (event) => {
        event.preventDefault();
        this.act(async () => {
          await api.addColumns(this.name, columns.values());
          this.draw(await api.table(this.name), endpoints);
          await this.offerFill();
        });
      }}}, columns.element, h("p", {}, h("button", {type: "submit"}, t("Add"))));
    });
  }

  show(data) {
    const {table, rows} = this.data = data;
    this.grid.update(data);
    const known = rows.flatMap((row) => table.columns.map((column) => row.cells[column.name]?.status ?? "open"));
    const count = (status) => known.filter((each) => each === status).length;
    replace(this.facts, [table.collection, table.filter && inWords(table.filter), `${plural(rows.length, "document")} × ${plural(table.columns.length, "column")}`,
      ...[["found", t("filled")], ["empty", t("empty")], ["failed", t("failed")], ["open", t("not read yet")]].map(([status, words]) => count(status) > 0 && `${number(count(status))} ${words}`)]
      .filter(Boolean).map((each) => h("span", {}, each)));
    if (this.selected?.shown) this.openAgain();
  }

  /** Show the open cell again if it has changed. */
  openAgain() {
    const {column, at} = this.selected;
    const row = this.data.rows.find(({document: id}) => id === this.selected.row.document);
    if (row && row.cells[column.name]?.at !== at) this.openCell(row, column, true);
  }

  /** Fetch the cells that have arrived, soon. An error that is shown stays, unless there is another one. */
  arrive() {
    clearTimeout(this.again);
    const wait = Math.max(0, this.refreshed + REFRESH_MS - performance.now());
    this.again = setTimeout(() => this.refresh().catch((error) => this.act(() => { throw error; })), wait);
  }

  async refresh() {
    const began = this.refreshed = performance.now();
    const data = await api.table(this.name);
    if (this.closed || began < this.shown) return; // a later request has been answered already
    this.shown = began;
    this.show(data);
  }

  /** What a fill would take, and the button that starts it. */
  async offerFill() {
    const {cells, calls, tokens} = await api.estimateFill(this.name);
    if (this.closed || this.watch) return;
    replace(this.fillBar, cells ? [
      h("button", {type: "button", class: "main", "data-key": "fill", on: {click: () => this.act(() => this.fill({}))}}, n(cells, "Fill {count} cell", "Fill {count} cells")),
      h("span", {class: "note"}, t("takes {calls}, about {tokens}; cells of long documents that stay empty take one more call", {calls: plural(calls, "model call"), tokens: plural(tokens, "token")}))]
      : h("span", {class: "note"}, t("All cells have been read.")));
  }

  async fill(wanted) {
    this.follow(await api.fillTable(this.name, {...wanted, model: this.model?.value ?? ""}));
  }

  follow(job) {
    this.fillBar.replaceChildren();
    const changed = () => {
      this.showJob();
      this.arrive();
      if (isOpen(this.watch.job)) return;
      this.watch = null;
      this.act(() => this.offerFill());
    };
    this.watch = new JobWatch(job, changed, (error) => this.act(() => { throw error; }));
    this.showJob();
  }

  showJob() {
    const {job} = this.watch;
    const done = job.result ?? job.progress;
    replace(this.work, h("div", {class: "job", role: "status"},
      h("p", {class: "facts"}, badge(job.status), [job.waits_for, done && n(done.of, "{part} of {count} model call", "{part} of {count} model calls", {part: done.calls}), done && n(done.found, "{count} value found", "{count} values found"), done?.failed > 0 && t("{failed} failed", {failed: done.failed}), done && plural(done.tokens, "token")]
        .filter(Boolean).map((each) => h("span", {}, each)),
      isOpen(job) && h("button", {type: "button", class: "stop", "data-key": "stop", on: {click: () => this.act(() => api.cancelJob(job.id))}}, t("Stop"))),
      isOpen(job) && h("progress", {max: done?.of || 1, value: done ? done.calls : null, "aria-label": t("Model calls done")}),
      job.error && h("p", {class: "fault"}, job.error)));
  }

  /** Show the selected cell in the panel if that is open. `wait`: for a click, which opens it. */
  selectCell(row, column, wait = 0) {
    clearTimeout(this.timer);
    if (wait || !panel.hidden) this.timer = setTimeout(() => { if (!this.grid.editing) this.openCell(row, column, hasRoom()); }, wait || SELECT_MS);
  }

  openCell(row, column, still) {
    clearTimeout(this.timer);
    const current = this.data.rows.find(({document: id}) => id === row.document) ?? row;
    const selected = this.selected = {row: current, column, at: current.cells[column.name]?.at, shown: true};
    const place = {rows: [row.document], columns: [column.name], redo: true};
    openCell(this.data.table, current, column, {
      still, closed: () => { selected.shown = false; },
      actions: [
        this.grid.save && h("button", {type: "button", class: "quiet", on: {click: () => this.grid.editAt(row, column)}}, t("Edit")),
        !this.watch && h("button", {type: "button", class: "quiet", on: {click: () => this.act(() => this.fill(place))}}, t("Read again")),
      ],
    });
  }

  /** Store a value by hand. Returns whether that succeeded. */
  save(row, column, value) {
    return this.act(async () => {
      const cell = await api.editCell(this.name, {document: row.document, column: column.name, value});
      const rows = this.data.rows.map((each) => (each.document === row.document ? {...each, cells: {...each.cells, [column.name]: cell}} : each));
      this.show({...this.data, rows});
    });
  }

  /** Run an action, and show its error. */
  act(action) {
    return tryAction(this.errorBox, action);
  }
}
