/* Calls of tools that wait for a person: what is to be called, why, with what, and how long it waits. */

import * as api from "../lib/api.js";
import {failure, h} from "../lib/dom.js";
import {Trouble} from "../lib/errors.js";
import {seconds} from "../lib/format.js";

const CLOCK_MS = 1000;

/** The open approvals of a run. A card stays as it is while the run goes on: what a person writes in it is not lost. */
export class Approvals {
  constructor(live) {
    Object.assign(this, {live, cards: new Map(), element: h("div", {class: "approvals", "aria-live": "assertive"})});
    this.clock = setInterval(() => { for (const card of this.cards.values()) card.tick(); }, CLOCK_MS);
  }

  close() {
    clearInterval(this.clock);
  }

  /** Take in what is new in the run. */
  update() {
    const open = this.live.over ? [] : [...this.live.model.approvals.values()].filter((each) => !each.decided);
    const ids = new Set(open.map((each) => each.approval_id));
    for (const [id, card] of this.cards) {
      if (ids.has(id)) continue;
      card.element.remove();
      this.cards.delete(id);
    }
    for (const asked of open) {
      if (this.cards.has(asked.approval_id)) continue;
      const card = new Card(asked, this.live.id);
      this.cards.set(asked.approval_id, card);
      this.element.append(card.element);
    }
  }
}

class Card {
  constructor(asked, runId) {
    Object.assign(this, {asked, runId, until: null});
    this.given = JSON.stringify(asked.arguments, null, 2);
    this.text = h("textarea", {rows: Math.min(12, this.given.split("\n").length), spellcheck: "false", "aria-label": "Arguments", on: {input: () => this.name()}});
    this.text.value = this.given;
    this.about = h("p", {class: "note"});
    this.left = h("span", {class: "note"});
    this.trouble = h("div", {});
    this.yes = h("button", {type: "button", class: "main", on: {click: () => this.approve()}}, "Approve");
    this.no = h("button", {type: "button", on: {click: () => this.decide({decision: "refused"})}}, "Refuse");
    this.element = h("section", {class: "approval", "aria-label": `Approval of ${asked.tool}`},
      h("h2", {}, `${asked.agent} asks to call ${asked.tool}`), this.about,
      h("p", {class: "text"}, asked.reason), this.text, this.trouble,
      h("div", {class: "inline"}, this.yes, this.no, this.left));
    this.learn();
  }

  /** How long it waits, and what the tool does: the event does not say. */
  async learn() {
    try {
      const known = (await api.approvals(this.runId)).find((each) => each.approval_id === this.asked.approval_id);
      if (!known) return; // somebody has just decided: the event is on its way
      this.until = Date.parse(known.until);
      this.about.textContent = known.description;
      this.tick();
    } catch (error) {
      this.failed(error);
    }
  }

  tick() {
    if (this.until) this.left.textContent = `Refused in ${seconds(Math.max(0, Math.round((this.until - Date.now()) / 1000)))} if nobody decides`;
  }

  name() {
    this.yes.textContent = this.text.value === this.given ? "Approve" : "Approve as edited";
  }

  async approve() {
    if (this.text.value === this.given) {
      await this.decide({decision: "approved"});
      return;
    }
    let edited;
    try {
      edited = JSON.parse(this.text.value);
    } catch (error) {
      this.trouble.replaceChildren(failure(Object.assign(error, {title: "The arguments are not JSON"})));
      return;
    }
    await this.decide({decision: "edited", arguments: edited});
  }

  async decide(decision) {
    this.trouble.replaceChildren();
    this.yes.disabled = this.no.disabled = true;
    try {
      await api.decide(this.asked.approval_id, decision); // the event that tells of it takes the card away
    } catch (error) {
      this.failed(error);
      this.yes.disabled = this.no.disabled = false;
    }
  }

  failed(error) {
    if (!(error instanceof Trouble)) throw error;
    this.trouble.replaceChildren(failure(error));
  }
}
