/* What to start from: recent conversations about the collection, and questions that a model suggests. */

import * as api from "../../lib/api.js";
import {failure, h, loading} from "../../lib/dom.js";
import {formatTime, namesIn, plural} from "../../lib/format.js";
import {t, term} from "../../lib/i18n.js";
import {may} from "../../lib/session.js";

const RECENT = 5;
const LOOKED_AT = 50; // latest runs, whose conversations are shown

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
    this.fill(this.recent, () => api.runs({collection: collection === "*" ? "" : collection, limit: LOOKED_AT, with_answers: true}), conversations);
    if (!collection || collection === "*" || namesIn(collection).length > 1) return; // a model suggests questions about one collection
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
      this.suggested.replaceChildren(loading(t("The model reads passages and writes questions")));
      this.fill(this.suggested, () => api.suggest(collection), (found) => this.suggestions(found));
    }}}, questions.length || outdated ? t("Suggest other questions") : t("Suggest questions"));
    if (!questions.length && !make) return [];
    return [h("section", {"aria-label": t("Suggested questions")}, h("h2", {}, t("Suggested questions")),
      outdated && h("p", {class: "note"}, t("The collection has changed since a model suggested questions.")),
      h("ul", {}, questions.map((question) => h("li", {}, h("button", {type: "button", class: "quiet", on: {click: () => this.use(question)}}, question)))),
      make)];
  }
}

/** The latest conversations, each with its first question, how many followed, and the short answer of the last one. */
function conversations(runs) {
  const known = new Map(runs.map((run) => [run.run_id, run]));
  const beginning = (run) => (known.has(run.continues) ? beginning(known.get(run.continues)) : run);
  const shown = [...Map.groupBy(runs.filter(({forked_from: origin}) => !origin), beginning)].slice(0, RECENT);
  if (!shown.length) return [];
  return [h("section", {"aria-label": t("Conversations")}, h("h2", {}, t("Conversations")),
    h("ul", {}, shown.map(([first, [latest, ...others]]) => h("li", {}, h("a", {href: `#/ask/${encodeURIComponent(latest.run_id)}`}, first.question),
      h("p", {class: "note said"}, [others.length > 0 && plural(others.length, "further question"), formatTime(latest.started_at), latest.short || term(latest.status)].filter(Boolean).join(" · "))))))];
}
