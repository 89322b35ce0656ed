/* The page that asks for a key, where the server wants one. */

import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";
import {Problem} from "../lib/errors.js";
import {forgetKey, hasKey, keepKey} from "../lib/session.js";

/** `done` is called when a key was accepted. */
export function showSignIn(place, done) {
  const trouble = h("div", {}, hasKey() && h("p", {class: "fault", role: "alert"}, "The key that was used here is not valid any more."));
  const key = h("input", {type: "password", name: "key", required: true, autocomplete: "off", spellcheck: "false", "aria-label": "Key"});
  const submit = h("button", {type: "submit", class: "main"}, "Sign in");
  const element = h("form", {class: "signin", on: {submit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    trouble.replaceChildren();
    keepKey(key.value.trim());
    try {
      await api.me();
      done();
    } catch (error) {
      forgetKey();
      const wrong = error instanceof Problem && error.status === 401;
      trouble.replaceChildren(wrong ? h("p", {class: "fault", role: "alert"}, "This key is not valid: it is wrong, has expired, or was revoked.") : failure(error));
    } finally {
      submit.disabled = false;
    }
  }}},
  h("h1", {}, "Sign in"),
  h("p", {}, "This service wants to know who asks. Your key is kept in this tab until it is closed."),
  h("div", {class: "find"}, key, submit), trouble,
  h("p", {class: "note"}, "Who runs the service makes keys: ", h("code", {}, "candor keys add NAME"), "."));
  forgetKey();
  place.replaceChildren(element);
  key.focus();
  return {};
}
