/* An answer with its citations on the clipboard, as plain text and as HTML. */

import {h} from "../../lib/dom.js";
import {placeIn, remark, sourceName} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";

/** Copy the answer. Returns whether the browser allowed it. */
export function copyAnswer(answer) {
  const fill = (event) => {
    event.preventDefault();
    event.clipboardData.setData("text/plain", asText(answer));
    event.clipboardData.setData("text/html", asHtml(answer));
  };
  document.addEventListener("copy", fill, {once: true});
  const copied = document.execCommand("copy"); // navigator.clipboard exists only on https and localhost
  document.removeEventListener("copy", fill);
  return copied;
}

function asText(answer) {
  const sources = [...cited(answer).map((quote) => `[${quote.number}] ${place(quote)}: ${words(quote)}`),
    ...answer.computations.map((each) => `[C${each.number}] ${each.purpose}`)];
  return [answer.answer || answer.short || answer.reasoning, sources.length && `${t("Sources")}:\n${sources.join("\n")}`].filter(Boolean).join("\n\n");
}

function asHtml(answer) {
  const entries = answer.claims.map((claim) => [claim.text, " ", ...marks(claim, answer.run_id), " "]);
  const laidOut = (own) => ({
    prose: () => h("p", {}, own),
    list: () => h("ul", {}, own.map((each) => h("li", {}, each))),
    numbered_list: () => h("ol", {}, own.map((each) => h("li", {}, each))),
  })[layoutOf(answer)]();
  const text = !answer.sections?.length ? laidOut(entries) : answer.sections.map((section) =>
    [h("h2", {}, section.title), laidOut(entries.splice(0, section.claims)), section.notes.map((note) => h("p", {}, note))]);
  const sources = [...cited(answer).map((quote) => h("p", {}, link(`[${quote.number}]`, answer.run_id, quote.number), ` ${place(quote)}: ${words(quote)}`)),
    ...answer.computations.map((each) => h("p", {}, `[C${each.number}] ${each.purpose}`))];
  return h("div", {}, answer.claims.length ? text : h("p", {}, answer.short || answer.reasoning),
    sources.length > 0 && [h("p", {}, h("strong", {}, t("Sources"))), sources]).innerHTML;
}

function marks(claim, runId) {
  const doubt = remark(claim) && ` [${remark(claim)}]`;
  if (!(claim.stands ?? claim.supported)) return [doubt];
  return [...claim.evidence.map((number) => link(`[${number}]`, runId, number)), ...claim.computations.map((number) => `[C${number}]`), doubt];
}

function link(label, runId, number) {
  return h("a", {href: new URL(`#/runs/${encodeURIComponent(runId)}/${number}`, location.href).href}, label);
}

function cited(answer) {
  const numbers = new Set(answer.claims.flatMap((claim) => (claim.stands ?? claim.supported) ? claim.evidence : []));
  return answer.evidence.filter((quote) => numbers.has(quote.number));
}

function place(quote) {
  return [sourceName(quote), placeIn(quote)].filter(Boolean).join(", ");
}

/** The words of a quote; without quotation marks if a model read them in a picture. */
function words({quote, picture}) {
  const line = quote.replace(/\s+/g, " ").trim();
  return picture ? line : `“${line}”`;
}

/** Return the layout of the claims, detected from the text of the answer. */
export function layoutOf({answer, sections}) {
  if (sections?.length) return answer.includes("\n- ") ? "list" : "prose"; // a report begins with a heading
  if (answer.startsWith("1. ")) return "numbered_list";
  return answer.startsWith("- ") ? "list" : "prose";
}
