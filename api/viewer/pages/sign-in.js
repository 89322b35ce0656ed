/* The sign-in page, shown when the server requires a user or an API key, and the page of an invitation. */

import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";
import {Problem} from "../lib/errors.js";
import {forgetKey, hasKey, storeKey} from "../lib/session.js";
import {field} from "../parts/forms.js";
import {phrase, t} from "../lib/i18n.js";

/** Ask for a name and password, or a key, and call `done` when the server accepts them. */
export async function showSignIn(container, done) {
  const failed = location.hash === "#/signin-failed";
  if (failed) history.replaceState(null, "", "#/");
  const message = failed ? t("The identity provider has not signed you in here. Ask the owner of this service.") : hasKey() && t("Your key is no longer valid.");
  const errorBox = h("div", {}, message && h("p", {class: "fault", role: "alert"}, message));
  forgetKey();
  const page = location.hash.slice(1) || "/";
  container.replaceChildren();
  const methods = await api.signInMethods().catch(() => ({}));
  const keys = keyForm(errorBox, done);
  container.replaceChildren(h("div", {class: "signin"},
    h("h1", {}, t("Sign in")),
    methods.password && passwordForm(errorBox, done),
    methods.oidc && h("p", {}, h("a", {href: `v1/session/oidc?${new URLSearchParams({page})}`}, t("Sign in with your organization"))),
    errorBox,
    methods.password || methods.oidc ? h("details", {}, h("summary", {}, t("Use an API key")), keys) : keys));
  container.querySelector("input").focus();
}

/** Let the person of an invitation choose a password. */
export function showInvitation(container, token, done) {
  const errorBox = h("div", {});
  const password = passwordField("new-password", {minlength: 10, maxlength: 200});
  container.replaceChildren(h("div", {class: "signin"}, h("h1", {}, t("Welcome")), h("p", {}, t("Choose a password of at least 10 characters.")),
    form(errorBox, done, () => api.acceptInvitation(token, password.value), [field(t("Password"), password)]), errorBox));
  password.focus();
}

function passwordForm(errorBox, done) {
  const name = h("input", {name: "name", required: true, autocomplete: "username", spellcheck: "false", maxlength: 100});
  const password = passwordField("current-password", {});
  return form(errorBox, done, () => api.signIn(name.value, password.value), [field(t("Name"), name), field(t("Password"), password)]);
}

function keyForm(errorBox, done) {
  const key = h("input", {type: "password", name: "key", required: true, autocomplete: "off", spellcheck: "false", "aria-label": t("Key")});
  const signIn = async () => {
    storeKey(key.value.trim());
    try {
      await api.me();
    } catch (error) {
      forgetKey();
      throw error instanceof Problem && error.status === 401 ? new Problem(401, {title: t("This key is not valid"), detail: t("It is wrong, expired or revoked."), type: "", remedy: ""}) : error;
    }
  };
  return h("div", {}, h("p", {}, t("This service requires an API key. The key stays in this tab until you close it.")),
    form(errorBox, done, signIn, [key]),
    h("p", {class: "note"}, phrase("To create a key, run {command} on the server.", {command: h("code", {}, "candor keys add NAME")})));
}

function passwordField(autocomplete, more) {
  return h("input", {type: "password", name: "password", required: true, autocomplete, ...more});
}

function form(errorBox, done, act, fields) {
  const submit = h("button", {type: "submit", class: "main"}, t("Sign in"));
  return h("form", {class: "find", on: {submit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    errorBox.replaceChildren();
    try {
      await act();
      done();
    } catch (error) {
      errorBox.replaceChildren(failure(error));
    } finally {
      submit.disabled = false;
    }
  }}}, fields, submit);
}
