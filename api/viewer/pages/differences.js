/* Two documents side by side: what was added, removed and changed, each change on both pages, and what it means. */

import * as api from "../lib/api.js";
import {h, loading, replace} from "../lib/dom.js";
import {documentAddress, plural} from "../lib/format.js";
import {number, t, term} from "../lib/i18n.js";
import {Reader} from "../parts/document/reader.js";
import {tryAction} from "../parts/forms.js";
import {showLoaded} from "../parts/loaded.js";

const SIDES = [t("Old document"), t("New document")];

/** Compare the document `id` with `other`; without it, with the version before it. */
export function showDifferences(container, collection, id, other = "") {
  const request = async () => {
    const found = await api.differences(id, collection, other);
    return [found, await Promise.all([found.old_id, found.new_id].map((each) => api.document(each, collection)))];
  };
  return showLoaded(container, t("Comparison"), request, ([found, records]) => new Differences(found, records).elements);
}

class Differences {
  constructor(found, records) {
    this.found = found;
    this.readers = records.map((record, at) => new Reader(record, record.collection, () => {}, [t("old document"), t("new document")][at]));
    this.list = h("div", {class: "changes", tabindex: "0", role: "region", "aria-label": t("Changes")}, h("h2", {}, t("Changes")), found.sections.map((each) => this.section(each)));
    this.meaning = h("div", {"aria-live": "polite"}, found.sections.some(({changes}) => changes.length) &&
      h("button", {type: "button", on: {click: () => this.explain()}}, t("Ask the model what the changes mean")));
    this.elements = [
      h("h1", {}, `${found.old} → ${found.new}`),
      h("p", {class: "facts"}, h("span", {}, plural(found.sections.length, "different section")), h("span", {}, t("{unchanged} unchanged", {unchanged: number(found.unchanged)}))),
      ...found.warnings.map((warning) => h("p", {class: "note"}, warning)),
      this.meaning,
      h("div", {class: "compared"}, this.list, records.map((record, at) => h("section", {"aria-label": SIDES[at]},
        h("h2", {}, h("a", {href: documentAddress(record.collection, record.id)}, record.name)), this.readers[at].element))),
    ];
    for (const reader of this.readers) reader.showPage(1);
    this.list.querySelector("button")?.click();
  }

  section({kind, heading, old_heading: before, moved, changes}) {
    const how = [term(kind), moved && kind !== "moved" && t("moved"), before && t("was “{before}”", {before})].filter(Boolean).join(", ");
    return h("section", {}, h("h3", {}, heading || t("Before the first heading"), " ", h("span", {class: "note"}, how)), changes.map((change) => this.change(change)));
  }

  /** A change as a button that shows the words on both pages. */
  change(change) {
    const sides = [["del", `${t("Removed:")} `, change.old, change.old_page], ["ins", `${t("Added:")} `, change.new, change.new_page]];
    return h("button", {type: "button", class: "change", on: {click: ({currentTarget}) => this.show(change, currentTarget)}},
      sides.filter(([, , words]) => words).map(([tag, label, words, page]) => h(tag, {}, h("span", {class: "hidden"}, label), words, page && h("span", {class: "note"}, ` ${t("p. {page}", {page})}`))));
  }

  show(change, button) {
    for (const each of document.querySelectorAll(".change[aria-current]")) each.removeAttribute("aria-current");
    button.setAttribute("aria-current", "true");
    for (const [at, span] of [change.old_span, change.new_span].entries()) if (span) this.readers[at].showSpan(...span);
  }

  async explain() {
    const {old_id: before, new_id: after} = this.found;
    const [error, button] = [h("div", {}), this.meaning.firstChild];
    replace(this.meaning, loading(t("The model reads the changes")));
    const done = await tryAction(error, async () => {
      const found = await api.explainDifferences(before, this.readers[0].collection, after);
      replace(this.meaning, h("section", {"aria-label": t("Meaning")}, h("h2", {}, t("What the changes mean")),
        !found.meanings.length && h("p", {}, t("The model names no change of meaning.")),
        found.meanings.map(({text, checked, changes}) => h("div", {class: "card"}, h("p", {}, text), h("p", {class: "note"}, checked), changes.map((change) => this.change(change)))),
        found.not_kept.map((text) => h("p", {class: "note"}, t("Not kept, because the changes do not state it: {text}", {text})))));
    });
    if (!done) replace(this.meaning, error, button);
  }
}
