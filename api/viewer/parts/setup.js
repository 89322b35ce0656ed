/* The three steps of a first start, shown to owners while no model is reachable or no collection exists. */

import * as api from "../lib/api.js";
import {fold, h} from "../lib/dom.js";
import {checkModel} from "../lib/model-state.js";
import {owner} from "../lib/session.js";
import {checkLine, modelForm} from "./model-form.js";
import {phrase, t} from "../lib/i18n.js";

/** Fill and return the card. It stays empty if no step is left, or if the user has no right to do it. */
export function setupCard() {
  const card = h("div", {});
  if (owner()) load(card);
  return card;
}

async function load(card) {
  try {
    const [{checks, reachable}, models, collections] = await Promise.all([checkModel(), api.models(), api.collections()]);
    const again = () => load(card);
    if (!reachable || !collections.length) card.replaceChildren(view(models.llm, checks, reachable, collections.length > 0, again));
    else if (card.hasChildNodes()) card.replaceChildren(h("p", {class: "note", role: "status"}, t("The set-up is complete.")));
  } catch {
    card.replaceChildren(); // the form below shows the error
  }
}

function view(model, checks, reachable, documents, again) {
  return h("section", {class: "setup", "aria-label": t("Set-up")},
    h("h2", {}, t("Three steps to the first answer")),
    h("ol", {},
      h("li", {},
        h("div", {class: "line"}, h("strong", {}, t("A language model")), status(reachable, t("reachable"), t("not reachable")), h("code", {}, model.model)),
        checks.filter(({ok}) => !ok).map(checkLine),
        fold("model", reachable ? t("Try it, or choose another model") : t("Choose a model"), () => modelForm("llm", model, again), !reachable)),
      h("li", {},
        h("div", {class: "line"}, h("strong", {}, t("Documents")), status(documents, t("done"), t("none yet"), "insufficient")),
        !documents && h("p", {}, phrase("{add}, or read a folder on the command line: {command}", {add: h("a", {href: "#/documents"}, t("Add documents")), command: h("code", {}, "candor ingest FOLDER")}))),
      h("li", {}, h("div", {class: "line"}, h("strong", {}, t("The first question"))),
        h("p", {class: "note"}, reachable && documents ? t("Ask it below.") : t("You ask it here. Search works without a model.")))));
}

function status(ok, yes, no, tone = "failed") {
  return h("span", {class: `badge is-${ok ? "done" : tone}`}, ok ? yes : no);
}
