/* What an unclear question may mean: a button for each candidate, with the words of the document that name it. */

import {failure, h} from "../../lib/dom.js";

/** `choose` asks the question of a candidate. `openQuote(index)`: opens its quote. */
export function choices({question, candidates}, choose, openQuote) {
  const errorBox = h("div", {});
  const pick = async (candidate) => {
    const buttons = [...list.querySelectorAll("button.choice")];
    for (const each of buttons) each.disabled = true;
    errorBox.replaceChildren();
    try {
      await choose(candidate);
    } catch (error) {
      errorBox.replaceChildren(failure(error));
    } finally {
      for (const each of buttons) each.disabled = false;
    }
  };
  const list = h("ol", {}, candidates.map((each, at) => h("li", {},
    h("button", {type: "button", class: "choice", title: each.question, "data-key": `choice ${at}`, on: {click: () => pick(each)}}, each.name), " ",
    h("button", {type: "button", class: "source", on: {click: () => openQuote(at)}},
      h("span", {class: "where"}, each.document), h("span", {class: "words"}, `“${each.quote}”`)))));
  return h("div", {class: "asked-back"}, h("p", {class: "short"}, question), list, errorBox);
}
