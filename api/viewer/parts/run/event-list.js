/* The events of a run as a virtual list (only visible rows are in the DOM) with a search that filters and highlights. */

import {failure, h} from "../../lib/dom.js";
import {Highlighter} from "../../lib/highlight.js";
import {keepFocus} from "../pager.js";
import {eventLine, seconds} from "../../lib/format.js";
import {number, t, term} from "../../lib/i18n.js";

const ROW = 30;
const OVERSCAN = 8; // rows drawn above and below the visible ones
const MAX_TEXT = 300; // characters around a hit
const VISIBLE_TEXT = 60; // characters that are visible on every screen
const LEVELS = ["supervisor", "planner", "worker", "tool"]; // from top to bottom
const KEYS = {ArrowDown: 1, ArrowUp: -1, PageDown: 12, PageUp: -12, Home: -Infinity, End: Infinity};

export class EventList {
  /** `open` gets the chosen event. Search hits are highlighted in `panel`, too. */
  constructor(live, open, panel) {
    this.live = live; this.open = open; this.panel = panel; this.known = 0; this.found = []; this.at = -1;
    this.words = ""; this.journal = null; this.texts = new WeakMap();
    this.rows = h("div", {class: "rows", role: "presentation"});
    this.view = h("div", {
      class: "events", tabindex: "0", role: "listbox", "aria-label": t("Events"),
      on: {scroll: () => this.draw(), keydown: (event) => this.onKey(event), click: (event) => this.onClick(event)},
    }, this.rows);
    this.count = h("span", {class: "note", role: "status"});
    this.search = h("input", {
      type: "search", placeholder: t("Search this run"), "aria-label": t("Search this run"), "data-slash": true,
      on: {input: () => this.filter(), keydown: (event) => event.key === "Enter" && this.go(event.shiftKey ? -1 : 1)},
    });
    this.level = h("select", {"aria-label": t("Levels of events"), on: {change: () => this.filter()}},
      [t("all levels"), ...LEVELS.slice(0, -1).map((level) => t("down to {level}", {level: term(level)})).reverse()].map((text) => h("option", {}, text)));
    this.pager = h("span", {hidden: true},
      h("button", {type: "button", "aria-label": t("Previous hit"), on: {click: () => this.go(-1)}}, "‹"), " ",
      h("button", {type: "button", "aria-label": t("Next hit"), on: {click: () => this.go(1)}}, "›"));
    this.prompts = h("input", {type: "checkbox", on: {change: () => this.loadJournal()}});
    this.errorBox = h("div", {});
    this.element = h("div", {},
      h("div", {class: "find"}, this.search, this.level, h("label", {class: "check"}, this.prompts, t("include prompts and responses")), this.pager, this.count),
      this.errorBox, this.view);
    this.size = new ResizeObserver(() => this.draw());
    this.size.observe(this.view);
    this.highlighter = new Highlighter(this.rows, panel);
  }

  close() {
    this.size.disconnect();
    this.highlighter.close();
  }

  /** Add the new events of the run. */
  update() {
    const {events} = this.live.model;
    if (this.known === events.length) return;
    const atEnd = this.view.scrollTop + this.view.clientHeight >= this.found.length * ROW - ROW;
    const follow = this.known > 0 && atEnd && !this.live.over;
    for (; this.known < events.length; this.known += 1) {
      if (this.matches(events[this.known])) this.found.push(events[this.known]);
    }
    this.resize();
    if (follow) this.view.scrollTop = this.found.length * ROW;
    this.draw();
  }

  filter() {
    this.words = this.search.value.trim().toLowerCase();
    this.find();
    this.at = -1;
    this.view.scrollTop = 0;
    this.highlighter.search(this.words);
    this.draw();
  }

  find() {
    this.found = this.live.model.events.filter((event) => this.matches(event));
    this.resize();
  }

  /** Search in other texts, and stay at the chosen event. */
  searchAgain() {
    const chosen = this.found[this.at];
    this.texts = new WeakMap();
    this.find();
    this.at = this.found.indexOf(chosen);
    this.draw();
  }

  async loadJournal() {
    this.errorBox.replaceChildren();
    this.journal = null;
    this.view.setAttribute("aria-busy", "true");
    if (this.prompts.checked) {
      try {
        const entries = await this.live.journal();
        this.journal = new Map(entries.map((each) => [`${each.key}/${each.occurrence}`, each]));
      } catch (error) {
        this.prompts.checked = false;
        this.errorBox.replaceChildren(failure(error));
      }
    }
    this.view.removeAttribute("aria-busy");
    this.searchAgain();
  }

  matches(event) {
    if (LEVELS.indexOf(event.level) >= LEVELS.length - this.level.selectedIndex) return false;
    return !this.words || this.textOf(event).toLowerCase().includes(this.words);
  }

  textOf(event) {
    if (!this.texts.has(event)) {
      const entry = this.journal?.get(`${event.body.key}/${event.body.occurrence}`);
      const exchanged = entry ? [...entry.messages.map((each) => each.content), ...entry.exchanges.flatMap((each) => [each.response, each.thinking])] : [];
      this.texts.set(event, [event.step, event.title, ...strings(event.body), ...exchanged].join("\n"));
    }
    return this.texts.get(event);
  }

  resize() {
    this.rows.style.height = `${this.found.length * ROW}px`;
    this.pager.hidden = !this.words || !this.found.length;
    const all = number(this.live.model.events.length);
    this.count.textContent = this.words || this.level.selectedIndex ? t("{count} of {all} events", {count: number(this.found.length), all}) : t("{all} events", {all});
  }

  draw() {
    const first = Math.max(0, Math.floor(this.view.scrollTop / ROW) - OVERSCAN);
    const last = Math.min(this.found.length, Math.ceil((this.view.scrollTop + this.view.clientHeight) / ROW) + OVERSCAN);
    this.rows.replaceChildren(...this.found.slice(first, last).map((event, index) => this.row(event, first + index)));
    if (this.at >= first && this.at < last) this.view.setAttribute("aria-activedescendant", `event-${this.found[this.at].number}`);
    else this.view.removeAttribute("aria-activedescendant");
  }

  row(event, index) {
    const row = h("div", {
      class: ["event", event.body.type, event.body.status && `is-${event.body.status}`].filter(Boolean).join(" "), role: "option", id: `event-${event.number}`, "data-index": index,
      "aria-selected": String(index === this.at), "aria-setsize": this.found.length, "aria-posinset": index + 1,
    },
    h("span", {class: "time"}, seconds((Date.parse(event.at) - this.live.model.began) / 1000)),
    h("span", {class: "step"}, event.step),
    h("span", {class: `level-${event.level}`}, h("span", {class: "what"}, event.title), " ", h("span", {class: "excerpt"}, this.excerpt(event))));
    row.style.top = `${index * ROW}px`;
    return row;
  }

  /** The text of an event in its row: its details, or the part around the first hit. */
  excerpt(event) {
    if (!this.words || eventLine(event).slice(0, VISIBLE_TEXT).toLowerCase().includes(this.words)) return event.details;
    const all = this.textOf(event);
    const at = all.toLowerCase().indexOf(this.words);
    return `… ${all.slice(Math.max(0, at - 40), at + MAX_TEXT)}`.replace(/\s+/g, " ");
  }

  onClick({target}) {
    const row = target.closest(".event");
    if (row) this.choose(Number(row.dataset.index));
  }

  onKey(event) {
    if (event.key === "Enter" && this.found[this.at]) this.open(this.found[this.at]);
    if (!(event.key in KEYS) || !this.found.length) return;
    event.preventDefault();
    this.show(Math.min(this.found.length - 1, Math.max(0, this.at + KEYS[event.key])));
  }

  /** Open the next (+1) or previous (-1) event. The focus stays where it is. */
  go(step) {
    if (!this.found.length) return;
    const next = this.at < 0 && step < 0 ? this.found.length - 1 : (this.at + step + this.found.length) % this.found.length;
    keepFocus(this.panel, () => this.choose(next));
  }

  /** Open an event by its number, even if the search filters it out. */
  openNumber(number) {
    const at = this.found.findIndex((event) => event.number === number);
    if (at >= 0) this.choose(at);
    else {
      this.at = -1;
      this.open(this.live.model.events[number - 1]);
    }
  }

  choose(index) {
    this.show(index);
    this.open(this.found[index]);
    if (this.words) this.highlighter.reveal(this.panel);
  }

  show(index) {
    this.at = index;
    const top = index * ROW;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    if (top + ROW > this.view.scrollTop + this.view.clientHeight) this.view.scrollTop = top + ROW - this.view.clientHeight;
    this.draw();
  }
}

/** Return all strings in a value. */
function strings(value) {
  if (typeof value === "string") return [value];
  if (value === null || typeof value !== "object") return [];
  return Object.values(value).flatMap(strings);
}
