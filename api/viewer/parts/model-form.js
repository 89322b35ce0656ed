/* Choosing a model: provider, address, key and name, with a trial before it is used. */

import * as api from "../lib/api.js";
import {badge, failure, h, loading, replace} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";
import {plural} from "../lib/format.js";
import {n, t} from "../lib/i18n.js";
import {choice, field} from "./forms.js";

const PROVIDERS = {
  llm: [["ollama", "Ollama"], ["openai", t("OpenAI-compatible endpoint")], ["local", t("GGUF file, loaded by Candor")]],
  embedding: [["local", t("computed by Candor")], ["ollama", "Ollama"], ["openai", t("OpenAI-compatible endpoint")]],
  rerank: [["none", t("none")], ["local", t("computed by Candor")], ["endpoint", t("endpoint with /rerank")], ["llm", t("the language model")]],
};
const ADDRESSES = {ollama: "http://127.0.0.1:11434", openai: "https://api.openai.com/v1", endpoint: "http://127.0.0.1:8080/v1"};
const GB = 1e9;

/** The form of a table ("llm", "embedding" or "rerank") for the model `now`. `saved` is called after a change. */
export function modelForm(table, now, saved) {
  const names = h("datalist", {id: `models-${table}`});
  const result = h("div", {role: "status"});
  const fixed = (name) => ({disabled: name in now.fixed});
  const provider = choice("provider", withPresent(PROVIDERS[table], now.provider), now.provider);
  provider.disabled = "provider" in now.fixed;
  provider.addEventListener("change", () => { address.value = provider.value === now.provider ? now.base_url : ""; });
  const address = h("input", {name: "base_url", type: "url", value: now.base_url, ...fixed("base_url")});
  const key = h("input", {name: "api_key", type: "password", autocomplete: "off", placeholder: now.has_key ? t("stored; not shown") : t("none"), ...fixed("api_key")});
  const model = h("input", {name: "model", required: true, value: now.model, list: names.id, ...fixed("model")});
  const size = table === "llm" && h("input", {name: "context_window", type: "number", min: 512, value: now.context_window, ...fixed("context_window")});
  const endpoint = h("div", {class: "choices"}, field(t("Address"), address), field(t("API key"), key));
  const fetching = h("button", {type: "button", on: {click: () => run(pull)}}, t("Fetch it with Ollama"));
  const listing = h("button", {type: "button", on: {click: () => run(list)}}, t("List models"));
  const named = field(table === "llm" ? t("Model") : t("Name"), model);
  const tokens = size && field(t("Context window, in tokens"), size);
  const form = h("form", {class: "card", on: {change: show, submit: (event) => {
    event.preventDefault();
    run(async () => saved(await api.chooseModel(table, wanted())));
  }}},
  h("div", {class: "choices"}, field(t("Provider"), provider), named, tokens, names), endpoint,
  Object.keys(now.fixed).length > 0 && h("p", {class: "note"}, t("Set elsewhere, so not changed here: {fixed}.", {fixed: Object.entries(now.fixed).map(([name, source]) => t("{name} by {source}", {name, source})).join(", ")})),
  result,
  h("p", {class: "inline"}, h("button", {type: "button", on: {click: () => run(attempt)}}, t("Try it")), listing, fetching, h("button", {type: "submit", class: "main"}, t("Use this model"))));
  show();
  return form;

  /** Show the fields that the provider has. */
  function show() {
    const {value} = provider;
    endpoint.hidden = !(value in ADDRESSES);
    address.placeholder = ADDRESSES[value] ?? "";
    named.hidden = value === "none" || value === "llm";
    model.required = !named.hidden;
    listing.hidden = !(value in ADDRESSES);
    fetching.hidden = value !== "ollama";
  }

  /** The choice: only fields that nothing else sets. An address that is not entered is the default. */
  function wanted() {
    const entered = [...new FormData(form)].filter(([, value]) => value !== "");
    const given = Object.fromEntries(entered.map(([name, value]) => [name, name === "context_window" ? Number(value) : value]));
    if (endpoint.hidden) for (const name of ["base_url", "api_key"]) delete given[name];
    if (named.hidden) delete given.model;
    return given;
  }

  async function run(act) {
    const buttons = form.querySelectorAll("button");
    for (const each of buttons) each.disabled = true;
    try {
      await act();
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      replace(result, failure(error));
    } finally {
      for (const each of buttons) each.disabled = false;
    }
  }

  async function attempt() {
    replace(result, loading(t("Asking the model; this takes up to a minute")));
    const {checks, seconds} = await api.tryModel(table, wanted());
    const works = checks.every(({ok}) => ok);
    replace(result, h("p", {}, `${works ? t("The model works") : t("The model does not work yet")}: ${n(checks.length, "{count} check in {seconds} s.", "{count} checks in {seconds} s.", {seconds})}`), checks.map(checkLine));
  }

  async function list() {
    replace(result, loading(t("Asking the endpoint")));
    const offered = await api.offeredModels(table, wanted());
    names.replaceChildren(...offered.map((name) => h("option", {value: name})));
    replace(result, h("p", {}, offered.length ? `${plural(offered.length, "model")}:` : t("The endpoint has no models.")),
      h("p", {class: "inline"}, offered.map((name) => h("button", {type: "button", class: "quiet", on: {click: () => { model.value = name; }}}, name))));
  }

  async function pull() {
    const bar = h("progress", {"aria-label": t("Fetching {value}", {value: model.value})});
    const line = h("p", {}, t("Fetching"));
    replace(result, line, bar);
    for await (const data of api.pullModel(table, wanted())) {
      const {status, completed, total, error} = JSON.parse(data);
      if (error) {
        replace(result, failure({title: t("The model was not fetched"), message: error}));
        return;
      }
      line.textContent = total ? t("{status}: {completed} of {total} GB", {status, completed: (completed / GB).toFixed(2), total: (total / GB).toFixed(2)}) : status;
      if (total) Object.assign(bar, {max: total, value: completed});
    }
    replace(result, h("p", {}, t("{value} is there. Try it.", {value: model.value})));
  }
}

/** The result of a check, with what to do after a failed one. */
export function checkLine({name, ok, detail, remedy}) {
  return h("p", {class: "check-line"}, badge(ok ? "done" : "failed"), `${name}: ${detail}`, remedy && h("span", {class: "remedy"}, remedy));
}

/** The providers, and the present one if only a settings file can choose it. */
function withPresent(providers, present) {
  return providers.some(([name]) => name === present) ? providers : [...providers, [present, present]];
}
