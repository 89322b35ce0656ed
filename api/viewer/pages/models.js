/* The models that the service uses. Only owners see them. */

import * as api from "../lib/api.js";
import {failure, h, loading} from "../lib/dom.js";
import {checkModel} from "../lib/model-state.js";
import {modelForm} from "../parts/model-form.js";

const TABLES = [
  ["llm", "Language model", "Plans, reads and writes the answers. A change counts from the next question."],
  ["embedding", "Embedding model", "Finds passages by meaning. A collection is searched with the model that it was ingested with: after a change, ingest it again."],
  ["rerank", "Reranker", "Orders found passages again. Optional."],
];

export function showModels(container) {
  const state = h("p", {class: "note", role: "status"});
  const list = h("div", {}, loading());
  container.append(h("h1", {}, "Models"), state, list);

  async function load() {
    try {
      show(await api.models());
    } catch (error) {
      list.replaceChildren(failure(error, load));
    }
  }

  function show(models) {
    list.replaceChildren(...TABLES.map(([table, title, note]) => h("section", {"aria-label": title}, h("h2", {}, title), h("p", {class: "note"}, note),
      modelForm(table, models[table], (changed) => {
        show(changed);
        state.textContent = `Saved. The ${title.toLowerCase()} is now ${changed[table].model || "none"}.`;
        checkModel();
      }))));
  }

  load();
  return {};
}
