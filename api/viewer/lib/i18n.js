/* The language of the page. The English text is the name of a message, so a message without a translation is English.

The messages of the language arrive before any other module runs: a constant of a module may be translated. */

const ITEM = "candor-language";
const LATIN = {ar: "ar-u-nu-latn"}; // with the digits that documents, pages and quotes have

/** The languages with messages, each under its own name. */
export const LANGUAGES = [
  ["en", "English"], ["de", "Deutsch"], ["fr", "Français"], ["es", "Español"], ["zh", "中文"], ["ja", "日本語"], ["ar", "العربية"]];
export let language = "en";
/** The locale of numbers and times: the language in the region of the browser. */
export let locale = "en";
let messages = {}, rules, phrases;

/** Return the kept language or, without one, the first wanted one that has messages; else English. */
export function choose(kept, wanted) {
  return [kept, ...wanted].map((each) => each.split("-")[0]).find((each) => LANGUAGES.some(([name]) => name === each)) ?? "en";
}

/** Speak a language from now on. `wanted`: the locales that the person prefers. */
export function use(name, found = {}, wanted = []) {
  language = name; messages = found;
  locale = LATIN[name] ?? wanted.find((each) => each.split("-")[0] === name) ?? name;
  rules = new Intl.PluralRules(name);
}

/** Keep a language for this browser, and show the page in it. */
export function setLanguage(name) {
  localStorage.setItem(ITEM, name);
  location.reload();
}

/** Return a message with its values: t("Signed in as {name}", {name}). */
export function t(text, values = {}) {
  return filled(messages[text] ?? text, values);
}

/** Return a message with elements among its words: h("p", {}, phrase("Write {name} to confirm", {name: h("b", {}, name)})). */
export function phrase(text, values) {
  return (messages[text] ?? text).split(/(\{\w+\})/).map((part) => values[part.slice(1, -1)] ?? part);
}

/** Return a message about a number of things: n(2, "{count} page", "{count} pages"). The plural is its name. */
export function n(count, one, many, values = {}) {
  const found = messages[many] ?? {};
  const text = found[rules.select(Number(count))] ?? found.other ?? (Number(count) === 1 ? one : many);
  return filled(text, {...values, count: number(count)});
}

/** Return a word of the server that belongs to a closed set, such as a state. */
export function term(word) {
  return t(word.replaceAll("_", " "));
}

/** Return what the server says about its answer. A sentence that is not known stays English. */
export function said(sentences) {
  return phrases ? meaning(sentences) ?? sentences.split("; ").map((each) => meaning(each) ?? each).join("; ") : sentences;
}

function meaning(sentence) {
  const found = phrases.read(sentence);
  if (!found) return null;
  const {reason, count} = found.values;
  const values = {...found.values, ...reason && {reason: said(reason)}};
  return count ? n(count.replaceAll(",", ""), found.text, found.text, values) : t(found.text, values);
}

export function number(value, options = {}) {
  return Number(value).toLocaleString(locale, options);
}

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => values[name] ?? whole);
}

/** Fetch the messages of the language, and translate what the page itself has. */
async function begin(wanted) {
  const page = document.documentElement;
  const chosen = choose(localStorage.getItem(ITEM) ?? "", wanted);
  use("en", {}, wanted);
  if (chosen === "en") return;
  page.hidden = true;
  const url = new URL(`../messages/${chosen}.json`, import.meta.url);
  const [found, parts] = await Promise.all([fetch(url).then((response) => response.json()), import("./phrases.js")]).catch(() => []);
  page.hidden = false;
  if (!found) return; // English, as for a message without a translation; the page says that the server does not respond
  use(chosen, found, wanted);
  phrases = parts;
  Object.assign(page, {lang: chosen, dir: chosen === "ar" ? "rtl" : "ltr"});
  for (const each of page.querySelectorAll("[data-t]")) translate(each, each.dataset.t);
}

/** Translate the text of an element, or the named attribute. */
function translate(element, attribute) {
  if (attribute) element.setAttribute(attribute, t(element.getAttribute(attribute)));
  else element.textContent = t(element.textContent);
}

use("en");
if (globalThis.document) await begin(navigator.languages);
