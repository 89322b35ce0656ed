/* The sources of a collection, which are read again and again: list, add, sync, remove. */

import * as api from "../lib/api.js";
import {badge, h, replace} from "../lib/dom.js";
import {formatTime, plural} from "../lib/format.js";
import {n, number, t} from "../lib/i18n.js";
import {actionsHead, choice, confirmButton, field, tryAction} from "./forms.js";

const HEADS = [t("Source"), t("State"), t("Documents"), t("Last sync"), t("Next sync")];
/** @type {[string, string][]} */
const EVERY = [["", t("only by hand")], ["1h", t("every hour")], ["1d", t("every day")], ["7d", t("every week")]];
const NOTE = t("A page with the pages below it, a sitemap, a feed, or a Git repository (git+https://…). The command candor sources add takes other addresses.");

export class Sources {
  /** `name()` returns the collection. `watch` gets the job of each sync. `removed` is called after a source was removed. */
  constructor(name, mayWrite, watch, removed) {
    this.name = name; this.mayWrite = mayWrite; this.watch = watch; this.removed = removed; this.requests = 0;
    this.errorBox = h("div", {});
    this.list = h("div", {});
    this.summary = h("summary", {}, t("Sources"));
    this.element = h("details", {class: "sources", "data-key": "sources"}, this.summary, this.errorBox, this.list, mayWrite && this.form());
  }

  /** Show the sources of a collection as they are now. */
  async refresh(collection) {
    const request = ++this.requests;
    const sources = await api.sources(collection);
    if (request < this.requests) return; // a newer request shows the current state
    const failed = sources.filter(({state}) => state === "failed").length;
    replace(this.summary, sources.length ? plural(sources.length, "source") : t("Sources"), failed > 0 && h("span", {class: "fault"}, ` · ${t("{failed} failed", {failed})}`));
    replace(this.list, sources.length > 0 && this.table(sources));
    this.element.hidden = !sources.length && !this.mayWrite;
  }

  act(action) {
    return tryAction(this.errorBox, action);
  }

  async sync(source) {
    this.watch(await api.syncSource(source.collection, source.name));
  }

  table(sources) {
    return h("div", {class: "wide"}, h("table", {},
      h("thead", {}, h("tr", {}, HEADS.map((head) => h("th", {scope: "col"}, head)), this.mayWrite && actionsHead())),
      h("tbody", {}, sources.map((each) => this.row(each)))));
  }

  row(source) {
    const {name, address, state, documents, synced_at: last, next_sync: next, every, error} = source;
    const isPage = /^https?:/i.test(address);
    const remove = () => this.act(async () => {
      await api.removeSource(source.collection, name);
      await this.removed();
    });
    return h("tr", {},
      h("td", {}, h("strong", {}, name), h("div", {class: "note"}, isPage ? h("a", {href: address, target: "_blank", rel: "noopener noreferrer"}, address) : address)),
      h("td", {}, badge(state), error && h("div", {class: "reason"}, error)),
      h("td", {}, number(documents)),
      h("td", {}, last ? formatTime(last) : t("never")),
      h("td", {}, next ? formatTime(next) : t("by hand"), every && h("div", {class: "note"}, t("every {every}", {every}))),
      this.mayWrite && h("td", {class: "actions"},
        h("button", {type: "button", class: "quiet", "data-key": `sync ${name}`, on: {click: () => this.act(() => this.sync(source))}}, t("Sync now")),
        confirmButton(t("Remove source"), `remove ${name}`, remove, n(documents, "Removes “{name}” and its {count} document from the collection. Nothing changes at {address}.", "Removes “{name}” and its {count} documents from the collection. Nothing changes at {address}.", {name, address}))));
  }

  form() {
    const form = h("form", {class: "card", "aria-label": t("Add a source"), on: {submit: (event) => {
      event.preventDefault();
      this.act(() => this.add(new FormData(form), form));
    }}},
    field(t("Address"), h("input", {name: "address", type: "text", required: true, maxlength: 2000, placeholder: "https://example.org/handbook/"}), NOTE),
    h("div", {class: "choices"}, field(t("Read again"), choice("every", EVERY)), h("button", {type: "submit"}, t("Add source"))));
    return form;
  }

  async add(given, form) {
    const added = await api.addSource(this.name(), {address: given.get("address").trim(), every: given.get("every")});
    form.reset();
    await this.sync(added);
    await this.refresh(added.collection);
  }
}
