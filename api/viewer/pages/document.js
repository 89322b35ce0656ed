/* One document: its facts and state, its text and pages, search within it, its passages, and the runs that cite it. */

import * as api from "../lib/api.js";
import {badge, failure, fold, h, loading} from "../lib/dom.js";
import {RequestError, Unreachable} from "../lib/errors.js";
import {documentAddress, fileName, formatTime, pages, plural} from "../lib/format.js";
import {t, term} from "../lib/i18n.js";
import {saveFile} from "../lib/save-file.js";
import {Finder} from "../parts/document/find.js";
import {citationList, passageList} from "../parts/document/lists.js";
import {Reader} from "../parts/document/reader.js";
import {tryAction} from "../parts/forms.js";

export function showDocument(container, collection, id, kind, place) {
  const view = new DocumentView(container, collection, id);
  view.load(kind, place);
  return {close: () => { view.closed = true; }, moved: (path) => view.moved(path)};
}

class DocumentView {
  constructor(container, collection, id) {
    this.collection = collection; this.id = id; this.closed = false; this.reader = null;
    this.body = h("div", {}, loading(t("Loading the document")));
    container.append(h("p", {class: "note"}, h("a", {href: `#/documents/${encodeURIComponent(collection)}`}, t("Documents in {collection}", {collection}))), this.body);
  }

  async load(kind, place) {
    try {
      const record = await api.document(this.id, this.collection);
      if (this.closed) return;
      this.draw(record);
      this.open(kind, place);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (this.closed) return;
      this.body.replaceChildren(failure(error, error instanceof Unreachable ? null : () => this.load(kind, place)));
      if (error instanceof Unreachable) api.online().then(() => { if (!this.closed) this.load(kind, place); });
    }
  }

  /** Show another place if the URL is of this document. */
  moved(path) {
    const [, documents, collection, id, kind, place] = path.split("/").map(decodeURIComponent);
    if (documents !== "documents" || collection !== this.collection || id !== this.id || kind === "against" || !this.reader) return false;
    this.open(kind, place);
    return true;
  }

  draw(record) {
    const {collection} = this;
    const errorBox = h("div", {});
    const save = () => tryAction(errorBox, async () => saveFile({name: fileName(record.name), content: await api.originalFile(record.id, collection)}));
    const hasText = record.state !== "removed" && record.version !== "" && record.chunks > 0;
    this.reader = hasText ? new Reader(record, collection, (page) => history.replaceState(null, "", `${documentAddress(collection, this.id)}/page/${page}`)) : null;
    const show = (start, end) => this.reader.showSpan(start, end);
    this.body.replaceChildren(...[
      h("h1", {}, record.name),
      record.title && !fileName(record.name).startsWith(record.title) && h("p", {}, record.title),
      h("p", {class: "facts"}, badge(record.state), record.pages > 0 && h("span", {}, plural(record.pages, "page")), h("span", {}, plural(record.chunks, "passage")),
        h("span", {}, t("changed {time}", {time: formatTime(record.updated_at)})),
        record.state !== "removed" && record.version && h("button", {type: "button", class: "quiet", on: {click: save}}, t("Save original")),
        /^https?:/i.test(record.metadata.url ?? "") && h("a", {href: record.metadata.url, target: "_blank", rel: "noopener noreferrer"}, t("Open original"))),
      errorBox,
      record.reason && h("p", {class: "failure"}, record.state === "removed" ? record.reason : t("While {stage}: {reason}", {stage: term(record.stage), reason: record.reason})),
      record.warnings.map((warning) => h("p", {class: "note"}, warning)),
      fold("facts", t("Facts and file"), () => h("dl", {class: "fields"}, fields(record).map(([name, value, title]) => [h("dt", {}, name), h("dd", {title}, value)]))),
      this.reader && h("section", {"aria-label": t("Content")}, new Finder(record, collection, show).elements, this.reader.element),
      this.citations(record),
      this.reader && fold("compare", t("Compare with another document"), () => this.comparison()),
      this.reader && fold("passages", plural(record.chunks, "passage"), () => passageList(record, collection, show)),
    ].flat().filter(Boolean));
  }

  /** A form that opens the comparison with another document, or with the version before. */
  async comparison() {
    const names = (await api.documents(this.collection)).filter(({id}) => id !== this.id).map(({name}) => name);
    const other = h("input", {list: "other-documents", placeholder: t("Empty: the version before"), "aria-label": t("Newer document")});
    return h("form", {class: "inline", on: {submit: (event) => {
      event.preventDefault();
      location.hash = `${documentAddress(this.collection, this.id)}/against${other.value.trim() && `/${encodeURIComponent(other.value.trim())}`}`;
    }}}, h("label", {}, `${t("Newer document")} `, other), h("datalist", {id: "other-documents"}, names.map((value) => h("option", {value}))), h("button", {type: "submit"}, t("Compare")));
  }

  /** The section with the runs that cite the document; it is filled when they are there. */
  citations(record) {
    const list = h("div", {}, loading());
    citationList(record, this.collection).then(
      (found) => list.replaceChildren(found ?? h("p", {class: "note"}, t("No answer cites it yet."))),
      (error) => {
        if (!(error instanceof RequestError)) throw error;
        list.replaceChildren(failure(error));
      });
    return h("section", {"aria-labelledby": "cited-by"}, h("h2", {id: "cited-by"}, t("Cited by")), list);
  }

  open(kind, place) {
    if (!this.reader) return;
    const [start, end] = (place ?? "").split("-").map(Number);
    if (kind === "at" && end > start) this.reader.showSpan(start, end);
    else this.reader.showPage(kind === "page" ? start : 1);
  }
}

/** The facts of the document with their quotes, then those of its file, as [name, value, title]. */
function fields(record) {
  return [
    ...Object.entries(record.facts).map(([name, fact]) => [name, fact.page ? `${fact.value} (${pages([fact.page])})` : fact.value, fact.quote]),
    ...Object.entries(record.fields).map(([name, value]) => [name, [value].flat().join(", "), t("own metadata")]),
    [t("path"), record.path], [t("type"), record.mime_type], [t("size"), plural(record.size, "byte")],
    [t("parser"), record.parser], [t("version"), record.version],
    ...Object.entries(record.metadata),
  ].filter(([, value]) => value !== "").map(([name, value, title]) => [name, String(value), title]);
}
