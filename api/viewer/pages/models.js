/* The models that the service uses. Only owners see them. */

import * as api from "../lib/api.js";
import {failure, h, loading} from "../lib/dom.js";
import {checkModel} from "../lib/model-state.js";
import {modelForm} from "../parts/model-form.js";
import {t} from "../lib/i18n.js";

const TABLES = [
  ["llm", t("Language model"), t("Plans, reads and writes the answers. A change counts from the next question.")],
  ["embedding", t("Embedding model"), t("Finds passages by meaning. A collection is searched with the model that it was ingested with: after a change, ingest it again.")],
  ["rerank", t("Reranker"), t("Orders found passages again. Optional.")],
];

const SAVED = {
  llm: (model) => t("Saved. The language model is now {model}.", {model}),
  embedding: (model) => t("Saved. The embedding model is now {model}.", {model}),
  rerank: (model) => t("Saved. The reranker is now {model}.", {model}),
};

export function showModels(container) {
  const state = h("p", {class: "note", role: "status"});
  const list = h("div", {}, loading());
  container.append(h("h1", {}, t("Models")), state, list);

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
        state.textContent = SAVED[table](changed[table].model || (changed[table].provider === "llm" ? t("the language model") : t("none")));
        checkModel();
      }))));
  }

  load();
  return {};
}
