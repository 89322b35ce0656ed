/* The option of the ask form that chooses the documents to read. */

import {h} from "../../lib/dom.js";
import {commaList, inWords, pairs} from "../filters.js";
import {field} from "../forms.js";
import {t} from "../../lib/i18n.js";

const asText = (value) => (typeof value === "object" ? Object.entries(value).map((pair) => pair.join("=")).join(", ") : value);
const trimmed = (text) => text.trim();
const isBox = ({type}) => type === "checkbox";
/** @type {[string, (text: string) => any, string, object, string][]} */
const FIELDS = [
  ["documents", commaList, t("Names"), {placeholder: "2024/*.pdf, notes.md"}, t("Any of them, separated by commas, with the wildcards * and ?.")],
  ["folder", trimmed, t("Folder"), {placeholder: "reports/2024"}, t("At any depth. The end of its path is sufficient.")],
  ["type", commaList, t("Types"), {placeholder: "pdf, docx"}, t("Any of them, separated by commas.")],
  ["since", trimmed, t("Since"), {type: "date"}, t("The date or period that the document states, otherwise the day of the last file change.")],
  ["tags", commaList, t("Tags"), {placeholder: t("taxes, 2024")}, t("All of them, separated by commas.")],
  ["latest", Boolean, t("Only the latest versions"), {type: "checkbox", value: "yes"}, t("Of several versions of a document. The answer lists the older ones.")],
  ["where", pairs, t("Metadata"), {placeholder: "project=Orion"}, t("All of them, separated by commas. A document shows its metadata.")],
];
const given = {}; // the last texts of the fields, kept between visits of the page

/** Choose the documents that an earlier request had. */
export function chooseFilter({filter}) {
  for (const [name] of FIELDS) given[name] = [filter?.[name] || ""].flat().map(asText).join(", ");
}

/** The folded fields with a summary of their values, and the part of a request that they set. See `options.js`. */
export function filterOption() {
  const inputs = FIELDS.map(([name, , , props]) => h("input", {name, value: given[name] ?? "", checked: isBox(props) && Boolean(given[name]), ...props}));
  const summary = h("summary", {});
  const update = () => {
    for (const input of inputs) given[input.name] = isBox(input) && !input.checked ? "" : input.value;
    const wanted = filterOf(given);
    summary.replaceChildren(wanted ? t("Only documents with {wanted}", {wanted: inWords(wanted)}) : t("Only some of the documents"));
  };
  const element = h("details", {class: "filters", on: {input: update}}, summary,
    h("div", {class: "fold-body"}, FIELDS.map(([, , label, , note], at) => field(label, inputs[at], note))));
  update();
  return {element, values: () => ({filter: filterOf(given)}), summary: () => ""};
}

/** Return the filter from the texts, or null if all are empty. */
function filterOf(texts) {
  const filled = FIELDS.map(([name, read]) => [name, read(texts[name])]).filter(([, value]) => value === true || (value.length ?? Object.keys(value).length));
  return filled.length ? Object.fromEntries(filled) : null;
}
