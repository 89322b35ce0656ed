/* The choice of the collections to ask. The browser keeps the last one; a new collection is never chosen by itself. */

import {h} from "../../lib/dom.js";
import {namesIn, plural} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";

const KEPT = "candor-collection";
const SEVERAL = "+";
const ALL = "*";

/** Return {element, several, notice, chosen, value}. `onChange` is called with the selection that the person chooses. */
export function collectionChoice(collections, onChange) {
  const kept = localStorage.getItem(KEPT);
  const known = kept === ALL || (kept && namesIn(kept).every((name) => collections.some((each) => each.name === name)));
  const gone = kept && !known;
  const chosen = known ? kept : collections.length === 1 && !gone ? collections[0].name : "";
  const listed = namesIn(chosen).length > 1 ? SEVERAL : chosen;
  const notice = h("p", {class: "note", role: "status"},
    gone && t("The last collection “{kept}” does not exist, or your key may not read it. Choose a collection.", {kept}));
  const boxes = collections.map(({name}) => h("input", {type: "checkbox", value: name, checked: namesIn(chosen).includes(name), on: {change: () => changed()}}));
  const several = h("fieldset", {class: "several", hidden: listed !== SEVERAL}, h("legend", {}, t("Collections")),
    collections.map((each, at) => h("label", {class: "check"}, boxes[at], `${each.name} (${sizeOf(each)})`)));
  const value = () => select.value === SEVERAL ? boxes.filter((box) => box.checked).map((box) => box.value).join("+") : select.value;
  const changed = () => {
    several.hidden = select.value !== SEVERAL;
    boxes[0]?.setCustomValidity(several.hidden || value() ? "" : t("Choose at least one collection."));
    if (!value()) return;
    keepCollection(value());
    notice.replaceChildren();
    onChange(value());
  };
  const option = (name, text) => h("option", {value: name, selected: name === listed}, text);
  const select = h("select", {name: "collection", required: true, on: {change: changed}},
    !chosen && h("option", {value: "", selected: true, disabled: true}, t("Choose a collection")),
    collections.map((each) => option(each.name, `${each.name} (${sizeOf(each)})`)),
    collections.length > 1 && [option(ALL, t("All collections")), option(SEVERAL, t("Several collections…"))]);
  return {element: h("label", {class: "collection"}, t("Collection"), select), several, notice, chosen, value};
}

export function keepCollection(selection) {
  localStorage.setItem(KEPT, selection);
}

function sizeOf({documents, chunks, unreadable}) {
  return unreadable ? t("cannot be read now") : `${plural(documents, "document")}, ${plural(chunks, "passage")}`;
}
