/* The text around quotes and their boxes on pages: for an answer all at once, for other quotes one by one. */

import * as api from "../../lib/api.js";
import {Problem} from "../../lib/errors.js";

const AROUND = 1800; // characters before and after a quote
const answers = new Map(); // requests by run

/** Return the quotes with their places in the texts of today. */
export async function placed(quotes, runId) {
  if (!runId) return quotes;
  const all = await loadEvidence(runId);
  return quotes.map((each) => ({...each, ...all.get(each.number)?.quote}));
}

/** Load the surroundings of all quotes of an answer, by number. The next call repeats a failed request. */
export function loadEvidence(runId) {
  if (!answers.has(runId)) {
    const loading = api.evidence(runId).then((all) => new Map(all.map((each) => [each.number, each])));
    answers.set(runId, loading);
    loading.catch(() => answers.delete(runId)); // the caller shows the error
  }
  return answers.get(runId);
}

/** Return the part of the text around a quote, with its `state`: found, moved, changed or missing. */
export async function surroundings(quote, collection, runId) {
  if (runId) return (await loadEvidence(runId)).get(quote.number);
  const start = Math.max(0, quote.start - AROUND);
  try {
    return {state: "found", ...await api.documentText(quote.document_id, collection, {start, limit: quote.end + AROUND - start})};
  } catch (error) {
    if (error instanceof Problem && error.status === 404) return {state: "missing"};
    throw error;
  }
}

/** Return another part of the source text of a quote. */
export async function moreText(quote, collection, runId, start, limit) {
  if (!quote.origin) return api.documentText(quote.document_id, collection, {start, limit});
  const characters = [...(await api.keptText(runId, quote.number)).text];
  return {text: characters.slice(start, start + limit).join(""), start, length: characters.length, pages: []};
}

/** Return the boxes of a quote on a page, or none if its position is uncertain. */
export async function boxesOn(page, quote, collection, runId) {
  if (quote.picture) return quote.picture.region ? [quote.picture.region] : [];
  const known = runId && (await loadEvidence(runId)).get(quote.number).marked.find((each) => each.page === page);
  return (known || await api.pageBoxes(quote.document_id, collection, page, quote.start, quote.end)).boxes;
}
