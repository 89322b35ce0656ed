/* The sign-in page, shown when the server requires an API key. */

import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";
import {Problem} from "../lib/errors.js";
import {forgetKey, hasKey, storeKey} from "../lib/session.js";

/** Ask for a key, and call `done` when the server accepts one. */
export function showSignIn(container, done) {
  const errorBox = h("div", {}, hasKey() && h("p", {class: "fault", role: "alert"}, "Your key is no longer valid."));
  const key = h("input", {type: "password", name: "key", required: true, autocomplete: "off", spellcheck: "false", "aria-label": "Key"});
  const submit = h("button", {type: "submit", class: "main"}, "Sign in");
  const element = h("form", {class: "signin", on: {submit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    errorBox.replaceChildren();
    storeKey(key.value.trim());
    try {
      await api.me();
      done();
    } catch (error) {
      forgetKey();
      const wrong = error instanceof Problem && error.status === 401;
      errorBox.replaceChildren(wrong ? h("p", {class: "fault", role: "alert"}, "This key is not valid. It is wrong, expired or revoked.") : failure(error));
    } finally {
      submit.disabled = false;
    }
  }}},
  h("h1", {}, "Sign in"),
  h("p", {}, "This service requires an API key. The key stays in this tab until you close it."),
  h("div", {class: "find"}, key, submit), errorBox,
  h("p", {class: "note"}, "To create a key, run ", h("code", {}, "candor keys add NAME"), " on the server."));
  forgetKey();
  container.replaceChildren(element);
  key.focus();
  return {};
}
