/* The passages of a document, and the runs whose answers cite it. Both lists grow on request. */

import * as api from "../../lib/api.js";
import {badge, h} from "../../lib/dom.js";
import {formatTime, pages, shorten} from "../../lib/format.js";
import {n, t} from "../../lib/i18n.js";
import {quoteNodes} from "../answer/text-view.js";
import {tryAction} from "../forms.js";
import {passageButton} from "./find.js";

const BATCH = 50; // runs in one response
const MOST_QUOTES = 5; // shown per run

/** Return all passages, page after page. `show(start, end)` shows one in the document. */
export async function passageList(record, collection, show) {
  return growing(async (shown) => {
    const found = await api.passages(record.id, collection, shown);
    return {items: found.map((each) => h("li", {}, passageButton(each, () => show(each.start, each.end)))), isLast: shown + found.length >= record.chunks || !found.length};
  });
}

/** Return the runs that cite the document, newest first; null if there are none. */
export async function citationList(record, collection) {
  let last = "";
  const list = await growing(async () => {
    const found = await api.citations(record.id, collection, last, BATCH);
    last = found.at(-1)?.run.run_id ?? "";
    return {items: found.map(citingRun), isLast: found.length < BATCH};
  });
  return last ? list : null;
}

function citingRun({run, quotes}) {
  const address = `#/runs/${encodeURIComponent(run.run_id)}`;
  return h("li", {},
    h("p", {class: "facts"}, h("a", {href: address}, shorten(run.question, 200)), badge(run.status), h("span", {}, formatTime(run.started_at))),
    quotes.slice(0, MOST_QUOTES).map((quote) => h("p", {class: "quoted"},
      quote.number ? h("a", {href: `#/ask/${encodeURIComponent(run.run_id)}/${quote.number}`}, `[${quote.number}]`) : h("span", {class: "note"}, t("computed")),
      " ", quoteNodes(quote.quote), " ", h("span", {class: "note"}, pages(quote.pages)))),
    quotes.length > MOST_QUOTES && h("p", {class: "note"}, n(quotes.length - MOST_QUOTES, "and {count} more quote", "and {count} more quotes")));
}

/** A list that asks for more items at its end. `next(shown)` returns {items, isLast}. */
async function growing(next) {
  const list = h("ul", {class: "sources"});
  const errorBox = h("div", {});
  const button = h("button", {type: "button", hidden: true, on: {click: () => tryAction(errorBox, add)}}, t("Show more"));
  async function add() {
    const {items, isLast} = await next(list.childElementCount);
    list.append(...items);
    button.hidden = isLast;
  }
  await add();
  return h("div", {}, list, errorBox, button);
}
