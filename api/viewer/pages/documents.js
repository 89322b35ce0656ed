/* The documents of a collection: upload, live states, and the reasons for failures. */

import * as api from "../lib/api.js";
import {empty, failure, h, loading, replace} from "../lib/dom.js";
import {RequestError, Unreachable} from "../lib/errors.js";
import {commaList} from "../parts/filters.js";
import {Library} from "../parts/document/library.js";
import {confirmButton, TO_BIN, tryAction} from "../parts/forms.js";
import {ingestLine, isOpen, JobWatch} from "../parts/jobs.js";
import {may, owner} from "../lib/session.js";
import {dropZone} from "../parts/upload.js";
import {Sources} from "../parts/sources.js";
import {plural} from "../lib/format.js";
import {n, number, t, term} from "../lib/i18n.js";

const POLL_MS = 1500; // while documents are being ingested
const FIRST_NAME = "documents"; // also the default name of the command line
const NAME = /^[A-Za-z0-9][A-Za-z0-9_-]{0,62}$/;
const NO_NAME = t("Write a name with letters from a to z or digits.");

export function showDocuments(container, chosen) {
  const view = new DocumentsView(container, chosen);
  return {close: () => view.close()};
}

class DocumentsView {
  constructor(container, chosen) {
    this.chosen = chosen; this.name = ""; this.documents = []; this.jobs = new Map(); this.lost = false;
    this.library = null; this.closed = false; this.timer = 0; this.requests = 0;
    this.sources = null;
    this.choose = h("div", {}, loading());
    this.work = h("div", {});
    this.errorBox = h("div", {});
    this.overview = h("div", {});
    this.list = h("div", {});
    container.append(h("h1", {}, t("Documents")), this.choose, this.errorBox, this.work, this.overview, this.list);
    this.load();
  }

  close() {
    this.closed = true;
    clearTimeout(this.timer);
    for (const watch of this.jobs.values()) watch.close();
  }

  async load() {
    try {
      const collections = await api.collections();
      if (this.closed) return;
      this.draw(collections.map((each) => each.name));
      if (!this.name) return;
      this.lost = isLost(collections, this.name);
      const jobs = await api.openJobs("ingest", this.name);
      if (this.closed) return;
      for (const job of jobs) this.watch(job);
      await this.refresh();
    } catch (error) {
      this.failed(error, () => this.load());
    }
  }

  /** Draw the choice of collection and the upload, which do not depend on the documents. */
  draw(names) {
    const known = this.chosen && !names.includes(this.chosen) && owner() ? [this.chosen, ...names] : names; // a new collection is created by the first upload
    this.name = known.includes(this.chosen) ? this.chosen : known[0] ?? "";
    const first = !known.length && owner() ? nameField(t("Collection"), FIRST_NAME) : null; // the first upload creates it
    this.choose.replaceChildren(...[first ? first.element : h("div", {class: "inline"},
      known.length > 0 && chooser(known, this.name), owner() && newCollection())]);
    this.tags = h("input", {name: "tags", placeholder: t("taxes, 2024"), value: this.tags?.value ?? ""});
    const writes = first !== null || (this.name !== "" && may("write", this.name));
    const named = () => {
      if (first && !this.name) this.begin(first);
      return this.name;
    };
    if (writes) {
      this.choose.append(h("p", {}, h("label", {}, `${t("Tags of uploaded files")} `, this.tags)), dropZone((files, onProgress) => {
        named();
        return this.upload(files, onProgress);
      }));
    }
    this.sources = new Sources(named, writes, (job) => this.watch(job), () => this.refresh());
    if (this.name || first) this.choose.append(this.sources.element);
    if (!known.length && !owner()) this.list.replaceChildren(empty(t("No documents yet"), t("Your key has no access to any collection.")));
  }

  /** Take the name that the person gave to the first collection. Throws RequestError if it cannot be used. */
  begin(field) {
    this.name = this.chosen = field.name();
    history.replaceState(null, "", hashOf(this.name));
    field.element.replaceWith(h("div", {class: "inline"}, chooser([this.name], this.name)));
  }

  async refresh() {
    clearTimeout(this.timer);
    const request = ++this.requests;
    const documents = await this.fetch();
    await this.sources.refresh(this.name);
    const lost = this.lost && isLost(await api.collections(), this.name);
    if (this.closed || request < this.requests) return; // a newer request shows the current state
    this.lost = lost;
    this.documents = documents;
    this.errorBox.replaceChildren();
    this.show();
    if (this.busy) this.timer = setTimeout(() => this.refresh().catch((error) => this.failed(error, () => this.load())), POLL_MS);
  }

  async fetch() {
    try {
      return await api.documents(this.name);
    } catch (error) {
      if (error.status === 404) return []; // a new collection does not exist yet
      throw error;
    }
  }

  get busy() {
    return [...this.jobs.values()].some((watch) => isOpen(watch.job));
  }

  watch(job) {
    if (this.jobs.has(job.id)) return;
    this.jobs.set(job.id, new JobWatch(job, () => {
      this.showJobs();
      if (!this.busy) this.act(() => this.refresh());
    }, (error) => this.failed(error)));
    this.showJobs();
  }

  async upload(files, onProgress) {
    this.watch(await api.upload(this.name, files, onProgress, commaList(this.tags.value)));
    await this.refresh();
  }

  async drop() {
    await api.dropCollection(this.name);
    this.chosen = "";
    location.hash = "#/documents";
    await this.load();
  }

  /** Run an action, and show its error. */
  async act(action) {
    try {
      await action();
    } catch (error) {
      this.failed(error);
    }
  }

  failed(error, retry = null) {
    if (!(error instanceof RequestError)) throw error;
    if (this.closed) return;
    this.errorBox.replaceChildren(failure(error, error instanceof Unreachable ? null : retry));
    if (error instanceof Unreachable) api.online().then(() => { if (!this.closed) this.load(); });
  }

  showJobs() {
    replace(this.work, [...this.jobs.values()].map(({job}) => ingestLine(job, () => this.act(() => api.cancelJob(job.id)))));
  }

  show() {
    const {documents} = this;
    const drop = may("admin", this.name) && confirmButton(t("Delete collection"), "drop", () => this.act(() => this.drop()), n(documents.length, "Deletes the collection “{name}” with its {count} document and the uploaded files. Runs that cite it stay. {bin}", "Deletes the collection “{name}” with its {count} documents and the uploaded files. Runs that cite it stay. {bin}", {name: this.name, bin: TO_BIN}), this.name);
    replace(this.overview, this.lost && this.lostNote(), documents.length > 0 && coverage(documents, this.lost, drop));
    if (!documents.length) {
      this.library = null;
      this.list.replaceChildren(empty(t("The collection is empty"), may("write", this.name) ? t("Drop documents above.") : ""));
      return;
    }
    if (!this.library) {
      this.library = new Library(may("write", this.name) ? this.changes() : null);
      this.list.replaceChildren(this.library.element);
    }
    this.library.show(documents);
  }

  /** A message that the vector store has no passages of the collection, with a button that restores them. */
  lostNote() {
    return h("div", {class: "inline", role: "alert"},
      h("p", {class: "fault"}, t("The vector store has lost this collection. Questions and searches fail until it is restored. The texts of the documents are still in the database.")),
      may("write", this.name) && !this.busy && h("button", {type: "button", "data-key": "restore", on: {click: () => this.restore()}}, t("Restore")));
  }

  /** What a person may do with several documents. */
  changes() {
    const each = (act) => (ids) => this.act(async () => {
      for (const id of ids) await act(id);
      await this.refresh();
    });
    return {
      retry: each(async (id) => this.watch(await api.retryDocument(this.name, id))),
      remove: each((id) => api.removeDocument(this.name, id)),
      tag: (ids, tags) => each((id) => api.tagDocument(this.name, id, tags))(ids),
      retryAll: () => this.restore(),
    };
  }

  /** Read failed documents again, and restore what the store has lost. */
  restore() {
    return this.act(async () => {
      this.watch(await api.retryFailed(this.name));
      await this.refresh();
    });
  }
}

function isLost(collections, name) {
  return collections.some((each) => each.name === name && each.lost);
}

function chooser(names, chosen) {
  return h("label", {}, `${t("Collection")} `,
    h("select", {on: {change: (event) => go(event.target.value)}}, names.map((name) => h("option", {value: name, selected: name === chosen}, name))));
}

function newCollection() {
  const errorBox = h("div", {});
  const field = nameField(t("Name of a new collection"), "");
  return h("form", {class: "inline", on: {submit: (event) => {
    event.preventDefault();
    tryAction(errorBox, async () => go(field.name()));
  }}}, field.element, h("button", {type: "submit"}, t("New collection")), errorBox);
}

/** A field for the name of a collection. It takes any words, and says which name they make. */
function nameField(label, value) {
  const input = h("input", {name: "name", required: true, value, maxlength: 200, placeholder: t("name"), "aria-label": label, on: {input: () => say()}});
  const note = h("span", {class: "note", role: "status"});
  const say = () => {
    const name = collectionName(input.value);
    note.textContent = !input.value.trim() || name === input.value.trim() ? "" : name ? t("The name will be {name}.", {name}) : NO_NAME;
  };
  return {
    element: h("div", {class: "inline"}, value && h("span", {}, label), input, note),
    name() {
      const name = collectionName(input.value);
      if (!name) throw new RequestError(NO_NAME, t("The collection has no name"), t("Then upload again."));
      return name;
    },
  };
}

/** Convert a text to a collection name. A valid name stays unchanged. Others get lowercase letters and dashes. */
function collectionName(written) {
  const text = written.trim();
  if (NAME.test(text)) return text;
  return text.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase().replace(/[^a-z0-9_]+/g, "-").replace(/^[-_]+|-+$/g, "").slice(0, 63);
}

function go(collection) {
  location.hash = hashOf(collection);
}

function hashOf(collection) {
  return `#/documents/${encodeURIComponent(collection)}`;
}

/** How many documents are searchable, and why the others are not. */
function coverage(documents, lost, drop) {
  const present = documents.filter((each) => each.state !== "removed");
  const searchable = present.filter((each) => !lost && each.chunks > 0);
  const passages = searchable.reduce((sum, each) => sum + each.chunks, 0);
  const failures = Map.groupBy(present.filter((each) => each.reason), (each) => genericReason(each));
  return h("section", {"aria-label": t("Coverage")},
    h("p", {class: "facts"}, h("strong", {}, n(present.length, "{part} of {count} document searchable", "{part} of {count} documents searchable", {part: number(searchable.length)})), h("span", {}, plural(passages, "passage")), drop && h("span", {class: "end"}, drop)),
    h("progress", {max: present.length || 1, value: searchable.length, "aria-label": t("Searchable documents")}),
    failures.size > 0 && h("ul", {class: "values"}, [...failures].map(([reason, those]) => h("li", {class: "note"}, `${plural(those.length, "document")}: ${reason}`))));
}

/** The reason of a failure without the document's name, so that equal reasons can be grouped. */
function genericReason({stage, reason, path, name}) {
  return t("while {stage}, {reason}", {stage: term(stage), reason: reason.replaceAll(path, "it").replaceAll(name, "it")});
}
