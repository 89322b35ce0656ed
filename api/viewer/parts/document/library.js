/* The documents of a collection as a list: found by words, filtered by state, sorted, page by page, chosen for one action. */

import {badge, h, replace} from "../../lib/dom.js";
import {documentAddress, formatTime, plural} from "../../lib/format.js";
import {number, t, term} from "../../lib/i18n.js";
import {commaList, fieldsInWords} from "../filters.js";
import {actionsHead, confirmButton, TO_BIN} from "../forms.js";
import {pagerBar} from "../pager.js";
import {tagList} from "../tags.js";

const PAGE = 50;
const WARNED = "with warnings";
/** @type {[string, string][]} the heads of the columns, and what sorts them */
const COLUMNS = [[t("Document"), "name"], [t("State"), "state"], [t("Pages"), "pages"], [t("Passages"), "chunks"], [t("Changed"), "updated_at"]];

export class Library {
  /** `change`: what a person may do with documents, {retry, remove, tag, retryAll}, each with a list of ids; null if nothing. */
  constructor(change) {
    this.change = change; this.documents = []; this.state = ""; this.words = ""; this.by = "name"; this.sign = 1; this.page = 0; this.chosen = new Set();
    const find = h("input", {type: "search", placeholder: t("Find documents"), "aria-label": t("Find documents"), "data-slash": true, on: {input: () => this.set({words: find.value.trim().toLowerCase()})}});
    this.states = h("div", {class: "filter", role: "group", "aria-label": t("States")});
    this.bulk = h("div", {class: "inline", role: "group", "aria-label": t("Chosen documents"), hidden: true}, change && this.bulkActions());
    this.table = h("div", {});
    this.element = h("div", {}, h("div", {class: "find"}, find, this.states), this.bulk, this.table);
  }

  show(documents) {
    this.documents = documents;
    const present = new Set(documents.filter(({state}) => state !== "removed").map(({id}) => id));
    this.chosen = new Set([...this.chosen].filter((id) => present.has(id)));
    this.draw();
  }

  /** Change what is shown, from the first page on. */
  set(changes) {
    Object.assign(this, {page: 0}, changes);
    this.draw();
  }

  draw() {
    const found = this.found();
    const pages = Math.max(1, Math.ceil(found.length / PAGE));
    this.page = Math.min(this.page, pages - 1);
    const shown = found.slice(this.page * PAGE, (this.page + 1) * PAGE);
    const go = (by) => {
      this.page = (this.page + by + pages) % pages;
      this.draw();
    };
    replace(this.states, this.stateButtons());
    replace(this.table,
      h("div", {class: "wide"}, h("table", {class: "documents"},
        h("thead", {}, h("tr", {}, COLUMNS.map((column, at) => this.headOf(column, at === 0 && shown)), this.change && actionsHead())),
        h("tbody", {}, shown.map((each) => this.row(each))))),
      !found.length && h("p", {class: "note"}, t("No matching documents.")),
      pages > 1 && h("div", {class: "pages"}, pagerBar(t("page"), this.page, pages, go)));
    this.showChosen();
  }

  found() {
    const {words, by, sign} = this;
    const compare = (one, other) => (typeof one === "string" ? one.localeCompare(other) : one - other);
    return this.documents.filter((each) => this.isIn(each, this.state) && (!words || [each.name, each.title, ...each.tags, ...Object.values(each.fields).flat()].join("\n").toLowerCase().includes(words)))
      .sort((one, other) => sign * compare(one[by], other[by]) || one.name.localeCompare(other.name));
  }

  isIn(document, state) {
    return !state || (state === WARNED ? document.warnings.length > 0 : document.state === state);
  }

  stateButtons() {
    const failed = this.documents.some(({state}) => state === "failed");
    const states = ["", ...new Set(this.documents.map(({state}) => state)), ...(this.documents.some(({warnings}) => warnings.length) ? [WARNED] : [])];
    return [
      states.map((state) => h("button", {type: "button", "aria-pressed": String(state === this.state), "data-key": `state ${state}`, on: {click: () => this.set({state})}},
        `${state ? term(state) : t("all")} ${number(this.documents.filter((each) => this.isIn(each, state)).length)}`)),
      failed && this.change && h("button", {type: "button", class: "quiet", "data-key": "retry all", on: {click: this.change.retryAll}}, t("Retry all failed"))];
  }

  headOf([label, name], shown) {
    const sorted = name === this.by;
    return h("th", {scope: "col", "aria-sort": sorted ? (this.sign > 0 ? "ascending" : "descending") : null},
      shown && this.change && h("input", {type: "checkbox", "aria-label": t("Choose all shown"), "data-key": "choose all", checked: shown.length > 0 && shown.every(({id}) => this.chosen.has(id)),
        on: {change: ({currentTarget}) => {
          for (const {id, state} of shown) if (currentTarget.checked && state !== "removed") this.chosen.add(id); else this.chosen.delete(id);
          this.draw();
        }}}),
      h("button", {type: "button", class: "quiet", "data-key": `sort ${name}`, on: {click: () => this.set({by: name, sign: sorted ? -this.sign : 1})}}, label, sorted && h("span", {"aria-hidden": "true"}, this.sign > 0 ? " ↑" : " ↓")));
  }

  row(document) {
    const {change} = this;
    const open = change && document.state !== "removed";
    return h("tr", {},
      h("td", {},
        open && h("input", {type: "checkbox", "aria-label": t("Choose {name}", {name: document.name}), "data-key": `choose ${document.id}`, checked: this.chosen.has(document.id), on: {change: ({currentTarget}) => {
          if (currentTarget.checked) this.chosen.add(document.id); else this.chosen.delete(document.id);
          this.showChosen();
        }}}),
        h("a", {class: "name", href: documentAddress(document.collection, document.id)}, document.name),
        document.title && document.title !== document.name && h("span", {class: "note"}, document.title),
        document.reason && (document.state === "removed"
          ? h("span", {class: "note"}, document.reason)
          : h("span", {class: "reason"}, t("While {stage}: {reason}", {stage: term(document.stage), reason: document.reason}))),
        Object.keys(document.fields).length > 0 && h("span", {class: "note"}, fieldsInWords(document.fields)),
        tagList(document, open ? (tags) => change.tag([document.id], tags) : null),
        document.warnings.map((warning) => h("span", {class: "note"}, warning))),
      h("td", {}, badge(document.state)),
      h("td", {class: "number"}, document.pages || "–"),
      h("td", {class: "number", title: plural(document.tokens, "token")}, number(document.chunks)),
      h("td", {class: "when"}, formatTime(document.updated_at)),
      change && h("td", {class: "actions"}, open && [
        document.state === "failed" && h("button", {type: "button", class: "quiet", "data-key": `again ${document.id}`, on: {click: () => change.retry([document.id])}}, t("Retry")),
        confirmButton(t("Delete"), `delete ${document.id}`, () => change.remove([document.id]), t("Removes “{name}” from the collection, with the file if it was uploaded. {bin}", {name: document.name, bin: TO_BIN}))]));
  }

  showChosen() {
    this.bulk.hidden = !this.chosen.size;
    this.bulk.querySelector("strong")?.replaceChildren(t("{count} chosen", {count: number(this.chosen.size)}));
  }

  bulkActions() {
    const {change} = this;
    const tags = h("input", {name: "bulk-tags", placeholder: t("taxes, 2024"), "aria-label": t("Tags for the chosen documents")});
    const remove = () => change.remove([...this.chosen]);
    return [
      h("strong", {role: "status"}),
      h("form", {class: "inline", on: {submit: (event) => {
        event.preventDefault();
        if (tags.value.trim()) change.tag([...this.chosen], {add: commaList(tags.value)});
      }}}, tags, h("button", {type: "submit"}, t("Add tags"))),
      h("button", {type: "button", on: {click: () => change.retry([...this.chosen])}}, t("Read again")),
      confirmButton(t("Delete chosen"), "delete chosen", remove, t("Removes the chosen documents from the collection, with the files that were uploaded. {bin}", {bin: TO_BIN})),
      h("button", {type: "button", class: "quiet", on: {click: () => {
        this.chosen.clear();
        this.draw();
      }}}, t("Choose none")),
    ];
  }
}
