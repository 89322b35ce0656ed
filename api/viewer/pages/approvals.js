/* All tool calls that wait for a decision, oldest first. */

import * as api from "../lib/api.js";
import {empty, failure, h, loading} from "../lib/dom.js";
import {RequestError, Unreachable} from "../lib/errors.js";
import {ApprovalCards} from "../parts/run/approvals.js";
import {showCount} from "../parts/open-approvals.js";
import {t} from "../lib/i18n.js";

const POLL_MS = 3000;

export function showApprovals(container) {
  const cards = new ApprovalCards();
  const state = h("div", {}, loading());
  let closed = false, timer = 0;
  container.append(h("h1", {}, t("Approvals")),
    h("p", {class: "note"}, t("Calls of tools that change something or cost money wait here for approval.")), state, cards.element);

  async function load() {
    clearTimeout(timer);
    try {
      const open = await api.openApprovals();
      if (closed) return;
      cards.show(open, (each) => h("a", {href: `#/runs/${encodeURIComponent(each.run_id)}`}, t("View run")));
      state.replaceChildren(...(open.length ? [] : [empty(t("No call waits for approval"))]));
      showCount(open.length);
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (closed) return;
      state.replaceChildren(failure(error, error instanceof Unreachable ? null : load));
    }
    if (!closed) timer = setTimeout(load, POLL_MS);
  }

  load();
  return {close() {
    closed = true;
    clearTimeout(timer);
    cards.close();
  }};
}
