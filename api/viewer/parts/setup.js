/* The first steps, shown to owners while no model is reachable or no collection exists. */

import * as api from "../lib/api.js";
import {badge, failure, fold, h, loading, replace} from "../lib/dom.js";
import {plural} from "../lib/format.js";
import {owner} from "../lib/session.js";

const NAMES = {ollama: "Ollama", openai: "an OpenAI-compatible endpoint", local: "loaded by Candor"};

/** Fill and return the card. It stays empty if no step is left, or if the user has no right to do it. */
export function setupCard() {
  const card = h("div", {});
  if (owner()) load(card);
  return card;
}

async function load(card) {
  try {
    const setup = await api.setup();
    const ready = setup.checks.every(({ok}) => ok);
    if (!ready || !setup.collections) card.replaceChildren(view(setup, ready, () => load(card)));
    else if (card.hasChildNodes()) card.replaceChildren(h("p", {class: "note", role: "status"}, "The set-up is complete."));
  } catch {
    card.replaceChildren(); // the form below shows the error
  }
}

function view(setup, ready, again) {
  return h("section", {class: "setup", "aria-label": "Set-up"},
    h("h2", {}, "First steps"),
    h("ol", {},
      h("li", {},
        h("div", {class: "line"}, h("strong", {}, "A language model"), status(ready, "reachable", "not reachable")),
        h("p", {}, h("code", {}, setup.model), ` · ${NAMES[setup.provider]}${setup.address && ` at ${setup.address}`}`),
        trial(setup.checks.filter(({ok}) => !ok), again),
        !ready && fold("settings", "Set another model", () => choices(setup), true)),
      h("li", {},
        h("div", {class: "line"}, h("strong", {}, "Documents"), status(setup.collections > 0, "done", "none yet", "insufficient")),
        !setup.collections && [
          h("p", {}, h("a", {href: "#/documents"}, "Add documents"), ", or read a folder on the command line:"),
          copyable("candor ingest FOLDER --collection NAME")]),
      h("li", {}, h("div", {class: "line"}, h("strong", {}, "Ask a question")))));
}

/** The checks that have failed, and the button that sends the model test requests and replaces them by its results. */
function trial(failedBefore, again) {
  const result = h("div", {role: "status"}, failedBefore.map(checkLine));
  const button = h("button", {type: "button", class: "main", on: {click: async () => {
    button.disabled = true;
    replace(result, loading("Asking the model; this takes up to a minute"));
    try {
      const {checks, seconds} = await api.tryModel();
      const failed = checks.filter(({ok}) => !ok).length;
      replace(result, h("p", {}, `${failed ? "The model does not work yet" : "The model works"}: ${plural(checks.length, "check")} in ${seconds} s.`), checks.map(checkLine));
      if (!failed) result.append(h("button", {type: "button", on: {click: again}}, "Continue"));
    } catch (error) {
      replace(result, failure(error));
    } finally {
      button.disabled = false;
    }
  }}}, "Try it");
  return h("div", {}, result, button);
}

function status(ok, yes, no, tone = "failed") {
  return h("span", {class: `badge is-${ok ? "done" : tone}`}, ok ? yes : no);
}

function checkLine({name, ok, detail, remedy}) {
  return h("p", {class: "check-line"}, badge(ok ? "done" : "failed"), `${name}: ${detail}`, remedy && h("span", {class: "remedy"}, remedy));
}

/** The lines to copy for each kind of model. */
function choices({model, settings_file: file, provider, install_local: install}) {
  const restart = h("p", {class: "note"}, "Then restart ", h("code", {}, "candor serve"), ".");
  const toml = (lines) => copyable(["[llm]", ...lines].join("\n"));
  const name = provider === "ollama" ? model : "qwen3:8b";
  return [
    h("h3", {}, "Ollama on this machine"),
    copyable(`ollama serve &\nollama pull ${name}`),
    provider !== "ollama" && [h("p", {class: "note"}, "In ", h("code", {}, file), ":"), toml(['provider = "ollama"', `model = "${name}"`])],
    h("h3", {}, "OpenAI or a compatible endpoint"),
    h("p", {class: "note"}, "In ", h("code", {}, file), ":"),
    toml(['provider = "openai"', 'base_url = "https://api.openai.com/v1"', 'model = "MODEL"', "context_window = 32768"]),
    h("p", {class: "note"}, "The key, in the terminal that starts the service:"),
    copyable("export CANDOR_LLM__API_KEY=YOUR-KEY"),
    h("h3", {}, "A GGUF file, without a server"),
    copyable(install),
    h("p", {class: "note"}, "In ", h("code", {}, file), ":"),
    toml(['provider = "local"', 'model = "/models/MODEL.gguf"', "context_window = 16384"]),
    restart,
  ];
}

/** Lines with a button that copies them. */
function copyable(text) {
  const state = h("span", {class: "note", role: "status"});
  const button = h("button", {type: "button", class: "quiet", on: {click: async () => {
    await navigator.clipboard.writeText(text);
    state.textContent = "Copied";
  }}}, "Copy");
  return h("div", {class: "copyable"}, h("pre", {}, text), navigator.clipboard && button, state); // http pages of other machines have no clipboard
}
