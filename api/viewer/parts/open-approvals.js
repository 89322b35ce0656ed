/* The number of open approvals in the header. It is read again when something may have changed, and every minute. */

import * as api from "../lib/api.js";
import {h} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";
import {plural} from "../lib/format.js";
import {t} from "../lib/i18n.js";

const POLL_MS = 60_000;
const link = document.querySelector("#approvals-link");
let started = false;

/** Show the number of open approvals, now and from now on. */
export function followApprovals() {
  countApprovals();
  if (started) return;
  started = true;
  setInterval(countApprovals, POLL_MS);
  document.addEventListener("visibilitychange", countApprovals);
}

/** Read the open approvals and show their number. */
export async function countApprovals() {
  if (document.hidden || document.body.classList.contains("signed-out")) return;
  try {
    showCount((await api.openApprovals()).length);
  } catch (error) {
    if (!(error instanceof RequestError)) throw error; // the next reading shows the number
  }
}

export function showCount(count) {
  link.replaceChildren(t("Approvals"), ...(count ? [" ", h("span", {class: "count"}, count), h("span", {class: "hidden"}, plural(count, "call waits", "calls wait"))] : []));
}
