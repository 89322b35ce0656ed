/* Whether the default model is reachable: asked every minute, and before a question is sent. */

import * as api from "./api.js";
import {RequestError} from "./errors.js";
import {h} from "./dom.js";
import {owner} from "./session.js";
import {t} from "./i18n.js";

const EVERY_MS = 60_000;
const place = document.querySelector("#model");

/** Show the state in the header from now on. */
export async function followModel() {
  try {
    if (!document.hidden) await checkModel();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error; // the banner or the page shows it
  }
  setTimeout(followModel, EVERY_MS);
}

/** Ask for the state, show it in the header, and return it. */
export async function checkModel() {
  const state = await api.modelState();
  place.hidden = false;
  place.setAttribute("href", owner() ? "#/models" : "#/");
  place.className = state.reachable ? "is-done" : "is-failed";
  place.replaceChildren(h("span", {class: "dot", "aria-hidden": "true"}), h("span", {class: "name"}, state.model), " ", h("span", {class: state.reachable ? "hidden" : ""}, state.reachable ? t("is reachable") : t("not reachable")));
  return state;
}
