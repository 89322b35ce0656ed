/* The choice of the collection to ask. The browser keeps the last one; a new collection is never chosen by itself. */

import {h} from "../../lib/dom.js";
import {plural} from "../../lib/format.js";

const KEPT = "candor-collection";

/** Return {element, notice, chosen}. `onChange` is called with the name of the collection that the person chooses. */
export function collectionChoice(collections, onChange) {
  const kept = localStorage.getItem(KEPT);
  const known = collections.some(({name}) => name === kept);
  const gone = kept && !known;
  const chosen = known ? kept : collections.length === 1 && !gone ? collections[0].name : "";
  const notice = h("p", {class: "note", role: "status"},
    gone && `The last collection “${kept}” does not exist, or your key may not read it. Choose a collection.`);
  const select = h("select", {name: "collection", required: true, on: {change: () => {
    keepCollection(select.value);
    notice.replaceChildren();
    onChange(select.value);
  }}},
  !chosen && h("option", {value: "", selected: true, disabled: true}, "Choose a collection"),
  collections.map((each) => h("option", {value: each.name, selected: each.name === chosen}, `${each.name} (${sizeOf(each)})`)));
  return {element: h("label", {class: "collection"}, "Collection", select), notice, chosen};
}

export function keepCollection(name) {
  localStorage.setItem(KEPT, name);
}

function sizeOf({documents, chunks, unreadable}) {
  return unreadable ? "cannot be read now" : `${plural(documents, "document")}, ${plural(chunks, "passage")}`;
}
