/* The documents of a collection, with their states and the reasons where something went wrong. */

import * as api from "./api.js";
import {badge, empty, failure, h, loading} from "./dom.js";
import {many, when} from "./words.js";

const HOW = "candor ingest FOLDER --collection NAME";

export function showDocuments(place, chosen) {
  const body = h("div", {}, loading());
  place.append(h("h1", {}, "Documents"), body);
  let closed = false;

  async function load() {
    try {
      const names = (await api.collections()).map((each) => each.name);
      if (closed) return;
      if (!names.length) {
        body.replaceChildren(empty("There are no documents yet", "Make a collection of them with:", h("code", {}, HOW)));
        return;
      }
      const name = names.includes(chosen) ? chosen : names[0];
      const documents = await api.documents(name);
      if (!closed) body.replaceChildren(chooser(names, name), ...listed(documents));
    } catch (error) {
      if (!closed) body.replaceChildren(failure(error, load));
    }
  }

  load();
  return {close() { closed = true; }};
}

function chooser(names, chosen) {
  const go = (event) => { location.hash = `#/documents/${encodeURIComponent(event.target.value)}`; };
  return h("label", {class: "inline"}, "Collection",
    h("select", {on: {change: go}}, names.map((name) => h("option", {value: name, selected: name === chosen}, name))));
}

function listed(documents) {
  if (!documents.length) return [empty("The collection is empty", "Add to it with:", h("code", {}, HOW))];
  const states = Map.groupBy(documents, (each) => each.state);
  const table = h("table", {class: "documents"},
    h("thead", {}, h("tr", {}, ["Document", "State", "Pages", "Passages", "Changed"].map((name) => h("th", {scope: "col"}, name)))));
  const rows = h("tbody", {});
  const show = (state) => rows.replaceChildren(...documents.filter((each) => !state || each.state === state).map(row));
  const filter = h("div", {class: "filter", role: "group", "aria-label": "States"},
    [["", documents], ...states].map(([state, those]) => h("button", {
      type: "button", "aria-pressed": String(!state),
      on: {click: ({currentTarget}) => {
        for (const each of filter.children) each.setAttribute("aria-pressed", String(each === currentTarget));
        show(state);
      }},
    }, `${state || "all"} ${those.length.toLocaleString("en")}`)));
  show("");
  table.append(rows);
  return [filter, h("div", {class: "wide"}, table)];
}

function row(document) {
  return h("tr", {},
    h("td", {},
      h("span", {class: "name"}, document.name),
      document.title && document.title !== document.name && h("span", {class: "note"}, document.title),
      document.reason && h("span", {class: "reason"}, `While ${document.stage}: ${document.reason}`),
      document.warnings.map((warning) => h("span", {class: "note"}, warning))),
    h("td", {}, badge(document.state)),
    h("td", {class: "number"}, document.pages || "–"),
    h("td", {class: "number", title: many(document.tokens, "token")}, document.chunks.toLocaleString("en")),
    h("td", {}, when(document.updated_at)));
}
