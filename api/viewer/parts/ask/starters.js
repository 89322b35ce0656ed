/* Questions to start from: recent questions about the collection, and questions that a model suggests. */

import * as api from "../../lib/api.js";
import {failure, h, loading} from "../../lib/dom.js";
import {namesIn} from "../../lib/format.js";
import {may} from "../../lib/session.js";

const RECENT = 5;
const LOOKED_AT = 50; // number of latest runs, whose questions are shown without duplicates

export class Starters {
  /** `use` is called with a suggested question. */
  constructor(use) {
    this.use = use;
    this.collection = "";
    this.recent = h("div", {});
    this.suggested = h("div", {});
    this.element = h("div", {class: "starters"}, this.suggested, this.recent);
  }

  show(collection) {
    this.collection = collection;
    this.recent.replaceChildren();
    this.suggested.replaceChildren();
    if (!collection) return;
    this.fill(this.recent, () => api.runs({collection: collection === "*" ? "" : collection, limit: LOOKED_AT}), recentQuestions);
    if (collection === "*" || namesIn(collection).length > 1) return; // a model suggests questions about one collection
    this.fill(this.suggested, () => api.suggestions(collection), (found) => this.suggestions(found));
  }

  /** Show the result of `load` or its error, unless another collection has been chosen in the meantime. */
  async fill(container, load, view) {
    const {collection} = this;
    let shown;
    try {
      shown = view(await load());
    } catch (error) {
      shown = [failure(error, () => this.fill(container, load, view))];
    }
    if (collection === this.collection) container.replaceChildren(...shown);
  }

  suggestions({questions, outdated}) {
    const {collection} = this;
    const make = may("write", collection) && h("button", {type: "button", on: {click: () => {
      this.suggested.replaceChildren(loading("The model reads passages and writes questions"));
      this.fill(this.suggested, () => api.suggest(collection), (found) => this.suggestions(found));
    }}}, questions.length || outdated ? "Suggest other questions" : "Suggest questions");
    if (!questions.length && !make) return [];
    return [h("section", {"aria-label": "Suggested questions"}, h("h2", {}, "Suggested questions"),
      outdated && h("p", {class: "note"}, "The collection has changed since a model suggested questions."),
      h("ul", {}, questions.map((question) => h("li", {}, h("button", {type: "button", class: "quiet", on: {click: () => this.use(question)}}, question)))),
      make)];
  }
}

function recentQuestions(runs) {
  const latest = new Map();
  for (const run of runs) if (!latest.has(run.question)) latest.set(run.question, run);
  const shown = [...latest.values()].slice(0, RECENT);
  if (!shown.length) return [];
  return [h("section", {"aria-label": "Recent questions"}, h("h2", {}, "Recent questions"),
    h("ul", {}, shown.map((run) => h("li", {}, h("a", {href: `#/ask/${encodeURIComponent(run.run_id)}`}, run.question)))))];
}
