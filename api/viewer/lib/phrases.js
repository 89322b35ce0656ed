/* Sentences in which the server says what an answer and its claims rest on. Only languages other than English load them. */

export const SENTENCES = [
  "Word for word", "Word for word on page {page}", "Follows from {count} quotes",
  "Names and figures found in its quotes", "Names and figures found in its computations",
  "{part} of {count} claims not checked further", "Weak: {part} of {count} claims not supported",
  "Weak: its quotes have few words of the question", "Weak: a model read it in a picture of the page", "Weak: nothing was found",
  "Contradicted by its quotes", "Not answered by what was read", "Computed from {count} rows of {source}", "Computed from {count} rows",
  "only {part} of {count} documents read completely", "{count} candidates in the documents",
  "Talk without claims; nothing was checked", "Imported on {date} by {name}, {part} of {count} quotes of documents found in the collection",
  "Checked word for word", "Checked against its quote", "Confirmed by a check call",
  "Contradicts its quote: {reason}", "Not checked: {reason}", "Not in its evidence: {missing}.", "It repeats the question.",
  "No quote states one of its clauses.", "The rules cannot read it.", "It names no evidence.",
  "It says nothing beyond the question.", "It only says what the model told the tool.",
  "It is what the model concludes from its quotes.",
  "`candor doctor`, or “Try it” under Settings → Models, tests once whether the model can check the claims that rules cannot decide.",
  "The model failed the test of `candor doctor`, so claims that rules cannot decide stay not checked.",
  "The document has no text.", "No passage tells about it.", "Not stated.", "{reason} ({part} of {count} passages were read.)",
  "The model's answer was not kept: {reason}",
  "Its quotes have this figure. Whether it is the one that is asked for was not checked.",
];

const PATTERNS = SENTENCES.map((text) => ({text, form: new RegExp(`^${pattern(text)}$`, "i")}));

/** Return the message of a sentence and its values; null if it is none of them. */
export function read(sentence) {
  for (const {text, form} of PATTERNS) {
    const found = form.exec(sentence);
    if (found) return {text, values: found.groups ?? {}};
  }
  return null;
}

/** Counts and pages are digits; a count also reads the singular of its noun. */
function pattern(text) {
  const plain = text.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/(?<=\{count\} \w+)s\b/g, "s?");
  return plain.replace(/\{(count|part|page)\}/g, "(?<$1>[\\d,]+)").replace(/\{(\w+)\}/g, "(?<$1>.+?)");
}
