/* Tool calls that wait for approval: tool, reason, arguments and remaining time. */

import * as api from "../../lib/api.js";
import {failure, h} from "../../lib/dom.js";
import {RequestError} from "../../lib/errors.js";
import {seconds} from "../../lib/format.js";
import {t} from "../../lib/i18n.js";
import {countApprovals} from "../open-approvals.js";

const CLOCK_MS = 1000;

/** Cards of open approvals. A card is not drawn again while its approval is open, so edits are not lost. */
export class ApprovalCards {
  constructor() {
    this.cards = new Map(); this.element = h("div", {class: "approvals", "aria-live": "assertive"});
    this.clock = setInterval(() => { for (const card of this.cards.values()) card.tick(); }, CLOCK_MS);
  }

  close() {
    clearInterval(this.clock);
  }

  /** Add new approvals, and remove decided ones. `more` makes further content of a card. */
  show(open, more = (_request) => null) {
    const ids = new Set(open.map((each) => each.approval_id));
    for (const [id, card] of this.cards) {
      if (ids.has(id)) continue;
      card.element.remove();
      this.cards.delete(id);
    }
    for (const request of open) {
      if (this.cards.has(request.approval_id)) continue;
      const card = new Card(request, more(request));
      this.cards.set(request.approval_id, card);
      this.element.append(card.element);
    }
  }
}

/** The open approvals of a run. */
export class Approvals extends ApprovalCards {
  constructor(live) {
    super();
    this.live = live;
  }

  update() {
    const {live} = this;
    const open = live.over ? [] : [...live.model.approvals.values()].filter((each) => !each.decided);
    const known = this.cards.size;
    this.show(open.map((each) => ({run_id: live.id, ...each})));
    if (this.cards.size !== known) countApprovals();
  }
}

class Card {
  constructor(request, more) {
    this.request = request; this.until = null;
    this.original = JSON.stringify(request.arguments, null, 2);
    this.text = h("textarea", {rows: Math.min(12, this.original.split("\n").length), spellcheck: "false", "aria-label": t("Arguments"), on: {input: () => this.relabel()}});
    this.text.value = this.original;
    this.about = h("p", {class: "note"});
    this.left = h("span", {class: "note"});
    this.errorBox = h("div", {});
    this.yes = h("button", {type: "button", class: "main", on: {click: () => this.approve()}}, t("Approve"));
    this.no = h("button", {type: "button", on: {click: () => this.decide({decision: "refused"})}}, t("Refuse"));
    this.element = h("section", {class: "approval", "aria-label": t("Approval of {tool}", {tool: request.tool})},
      h("h2", {}, t("{agent} wants to call {tool}", {agent: request.agent, tool: request.tool})), this.about,
      h("p", {class: "text"}, request.reason), this.text, this.errorBox,
      h("div", {class: "inline"}, this.yes, this.no, this.left, more));
    if (request.until) this.know(request);
    else this.load();
  }

  know({until, description}) {
    this.until = Date.parse(until);
    this.about.textContent = description;
    this.tick();
  }

  /** Load the deadline and the description of the tool, which the event does not contain. */
  async load() {
    try {
      const known = (await api.approvals(this.request.run_id)).find((each) => each.approval_id === this.request.approval_id);
      if (known) this.know(known); // else it is decided; its event will follow
    } catch (error) {
      this.failed(error);
    }
  }

  tick() {
    if (this.until) this.left.textContent = t("Refused automatically in {time}", {time: seconds(Math.max(0, Math.round((this.until - Date.now()) / 1000)))});
  }

  relabel() {
    this.yes.textContent = this.text.value === this.original ? t("Approve") : t("Approve as edited");
  }

  async approve() {
    if (this.text.value === this.original) {
      await this.decide({decision: "approved"});
      return;
    }
    let edited;
    try {
      edited = JSON.parse(this.text.value);
    } catch (error) {
      this.errorBox.replaceChildren(failure(Object.assign(error, {title: t("The arguments are not valid JSON")})));
      return;
    }
    await this.decide({decision: "edited", arguments: edited});
  }

  async decide(decision) {
    this.errorBox.replaceChildren();
    this.yes.disabled = this.no.disabled = true;
    try {
      await api.decide(this.request.approval_id, decision); // its event, or the next reading, removes the card
    } catch (error) {
      this.failed(error);
      this.yes.disabled = this.no.disabled = false;
    }
  }

  failed(error) {
    if (!(error instanceof RequestError)) throw error;
    this.errorBox.replaceChildren(failure(error));
  }
}
