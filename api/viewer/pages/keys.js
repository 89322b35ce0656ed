/* Keys: who may do what with which collection, and for how long. */

import * as api from "../lib/api.js";
import {badge, failure, h, loading} from "../lib/dom.js";
import {attempt, choice, field, sure} from "../parts/forms.js";
import {when} from "../lib/format.js";

const RIGHTS = [["read", "may read"], ["write", "may change"], ["admin", "may do everything with"]];
const DAYS = [["", "never"], ["30", "in 30 days"], ["90", "in 90 days"], ["365", "in a year"]];
const DAY_MS = 86_400_000;

export function showKeys(place) {
  const trouble = h("div", {});
  const made = h("div", {"aria-live": "polite"});
  const list = h("div", {}, loading());
  const form = h("div", {});
  let closed = false;
  place.append(h("h1", {}, "Keys"), trouble, made, form, list);

  async function load() {
    try {
      const [keys, collections] = await Promise.all([api.keys(), api.collections()]);
      if (closed) return;
      form.replaceChildren(orderForm(collections.map((each) => each.name), order));
      list.replaceChildren(keys.length ? table(keys, (key) => attempt(trouble, async () => {
        await api.revokeKey(key.id);
        await load();
      })) : h("p", {class: "note"}, "There is no key yet. On this machine none is needed; other machines reach the service with keys only."));
    } catch (error) {
      list.replaceChildren(failure(error, load));
    }
  }

  async function order(wanted) {
    await attempt(trouble, async () => {
      const {key, secret} = await api.addKey(wanted);
      made.replaceChildren(shownOnce(key, secret));
      await load();
    });
  }

  load();
  return {close() { closed = true; }};
}

function orderForm(collections, order) {
  const rights = h("div", {class: "rights"});
  const places = [["*", "all collections, and the service"], ...collections.map((name) => [name, name])];
  const add = () => rights.append(h("div", {class: "inline"}, choice("right", RIGHTS, "read"), choice("collection", places, collections[0] ?? "*")));
  add();
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    order(wanted(new FormData(form)));
  }}},
  field("Name", h("input", {name: "name", required: true, maxlength: 100, placeholder: "whose it is, or what for"})),
  h("div", {class: "field"}, h("span", {}, "Rights"), rights, h("button", {type: "button", class: "quiet", on: {click: add}}, "And another collection")),
  h("div", {class: "choices"},
    field("Expires", choice("expires", DAYS)),
    field("Requests a day", h("input", {name: "requests_per_day", type: "number", min: 1, placeholder: "no limit"})),
    field("Tokens a day", h("input", {name: "tokens_per_day", type: "number", min: 1, placeholder: "no limit"})),
    h("button", {type: "submit", class: "main"}, "Make a key")));
  return h("details", {"data-key": "new key"}, h("summary", {}, "Make a key"), form);
}

function wanted(given) {
  const places = given.getAll("collection");
  const number = (name) => (given.get(name) ? Number(given.get(name)) : null);
  const days = given.get("expires");
  return {
    name: given.get("name"),
    rights: Object.fromEntries(given.getAll("right").map((right, at) => [places[at], right])),
    expires_at: days ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : null,
    limits: {requests_per_day: number("requests_per_day"), tokens_per_day: number("tokens_per_day")},
  };
}

function shownOnce(key, secret) {
  const copy = navigator.clipboard && h("button", {type: "button", on: {click: async ({currentTarget}) => {
    await navigator.clipboard.writeText(secret);
    currentTarget.textContent = "Copied";
  }}}, "Copy");
  return h("section", {class: "secret"},
    h("strong", {}, `The key for ${key.name}`),
    h("p", {}, "It is shown this once, and nobody can look it up again. Give it to its holder now."),
    h("p", {class: "inline"}, h("code", {}, secret), copy));
}

function table(keys, revoke) {
  return h("div", {class: "wide"}, h("table", {},
    h("thead", {}, h("tr", {}, ["Key", "Rights", "Limits", "Used", "Expires", ""].map((name) => h("th", {scope: "col"}, name)))),
    h("tbody", {}, keys.map((key) => row(key, revoke)))));
}

function row(key, revoke) {
  const over = key.revoked_at ? "revoked" : key.expires_at && Date.parse(key.expires_at) < Date.now() ? "expired" : "";
  const limits = [["requests", key.limits.requests_per_day], ["tokens", key.limits.tokens_per_day]].filter(([, most]) => most);
  return h("tr", {},
    h("td", {}, h("strong", {}, key.name), " ", over && badge(over), h("div", {class: "note"}, key.id)),
    h("td", {}, Object.entries(key.rights).map(([place, right]) => h("div", {}, `${right} ${place === "*" ? "everything" : place}`))),
    h("td", {}, limits.map(([what, most]) => h("div", {}, `${most.toLocaleString("en")} ${what} a day`))),
    h("td", {}, key.last_used_at ? when(key.last_used_at) : "never", h("div", {class: "note"}, `${key.requests_today.toLocaleString("en")} today`)),
    h("td", {}, key.expires_at ? when(key.expires_at) : "never"),
    h("td", {class: "actions"}, !over && sure("Revoke", `revoke ${key.id}`, () => revoke(key))));
}
