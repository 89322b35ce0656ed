/* API keys: create, list and revoke. */

import * as api from "../lib/api.js";
import {badge, failure, h, loading} from "../lib/dom.js";
import {actionsHead, choice, confirmButton, field, secretView, tryAction} from "../parts/forms.js";
import {formatTime} from "../lib/format.js";
import {number, t, term} from "../lib/i18n.js";

export const RIGHTS = [["read", t("Read")], ["write", t("Read and write")], ["admin", t("Full access")]];
const DAYS = [["", t("never")], ["30", t("in 30 days")], ["90", t("in 90 days")], ["365", t("in a year")]];
const DAY_MS = 86_400_000;

export function showKeys(container) {
  const errorBox = h("div", {});
  const created = h("div", {"aria-live": "polite"});
  const list = h("div", {}, loading());
  const form = h("div", {});
  let closed = false;
  container.append(h("h1", {}, t("Keys")), errorBox, created, form, list);

  async function load() {
    try {
      const [keys, collections] = await Promise.all([api.keys(), api.collections()]);
      if (closed) return;
      form.replaceChildren(keyForm(collections.map((each) => each.name), create));
      list.replaceChildren(keys.length ? table(keys, (key) => tryAction(errorBox, async () => {
        await api.revokeKey(key.id);
        await load();
      })) : h("p", {class: "note"}, t("No keys yet. Requests from this machine need no key. Requests from other machines need one.")));
    } catch (error) {
      list.replaceChildren(failure(error, load));
    }
  }

  async function create(request) {
    await tryAction(errorBox, async () => {
      const {key, secret} = await api.addKey(request);
      created.replaceChildren(secretView(t("The key for {name}", {name: key.name}), t("Copy it now. It is shown only once."), Object.values(key.rights).includes("ask") ? boxOf(secret) : secret));
      await load();
    });
  }

  load();
  return {close() { closed = true; }};
}

/** The element that shows the box for questions on a page of another site. */
function boxOf(secret) {
  return `<script src="${new URL("widget.js", document.baseURI)}" data-key="${secret}" defer></script>`;
}

function keyForm(collections, create) {
  const rights = h("div", {class: "rights"});
  const targets = [["*", t("all collections and the service")], ...collections.map((name) => [name, name])];
  const add = () => rights.append(h("div", {class: "inline"}, choice("right", [["ask", t("Only ask")], ...RIGHTS], "read"), choice("collection", targets, collections[0] ?? "*")));
  add();
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    create(keyRequest(new FormData(form)));
  }}},
  field(t("Name"), h("input", {name: "name", required: true, maxlength: 100, placeholder: t("person or program")})),
  h("div", {class: "field"}, h("span", {}, t("Rights")), rights, h("button", {type: "button", class: "quiet", on: {click: add}}, t("Add another collection"))),
  h("div", {class: "choices"},
    field(t("Sites that may only ask"), h("input", {name: "origins", placeholder: "https://www.example.org"})),
    field(t("Expires"), choice("expires", DAYS)),
    field(t("Requests per day"), h("input", {name: "requests_per_day", type: "number", min: 1, placeholder: t("no limit")})),
    field(t("Tokens per day"), h("input", {name: "tokens_per_day", type: "number", min: 1, placeholder: t("no limit")})),
    field(t("Bytes uploaded per day"), h("input", {name: "upload_bytes_per_day", type: "number", min: 1, placeholder: t("no limit")})),
    h("button", {type: "submit", class: "main"}, t("Create a key"))));
  return h("details", {"data-key": "new key"}, h("summary", {}, t("Create a key")), form);
}

function keyRequest(given) {
  const collections = given.getAll("collection");
  const limit = (name) => (given.get(name) ? Number(given.get(name)) : null);
  const days = given.get("expires");
  return {
    name: given.get("name"),
    rights: Object.fromEntries(given.getAll("right").map((right, at) => [collections[at], right])),
    origins: given.get("origins").split(/[\s,]+/).filter(Boolean),
    expires_at: days ? new Date(Date.now() + Number(days) * DAY_MS).toISOString() : null,
    limits: {requests_per_day: limit("requests_per_day"), tokens_per_day: limit("tokens_per_day"), upload_bytes_per_day: limit("upload_bytes_per_day")},
  };
}

function table(keys, revoke) {
  return h("div", {class: "wide"}, h("table", {},
    h("thead", {}, h("tr", {}, [...[t("Key"), t("Rights"), t("Limits"), t("Used"), t("Expires")].map((name) => h("th", {scope: "col"}, name)), actionsHead()])),
    h("tbody", {}, keys.map((key) => row(key, revoke)))));
}

/** Rights by collection, one a line. */
export function rightsList(rights) {
  return Object.entries(rights).map(([collection, right]) => h("div", {}, `${term(right)} ${collection === "*" ? t("everything") : collection}`));
}

function row(key, revoke) {
  const ended = key.revoked_at ? "revoked" : key.expires_at && Date.parse(key.expires_at) < Date.now() ? "expired" : "";
  const limits = [[t("requests"), key.limits.requests_per_day], [t("tokens"), key.limits.tokens_per_day], [t("bytes uploaded"), key.limits.upload_bytes_per_day]].filter(([, limit]) => limit);
  return h("tr", {},
    h("td", {}, h("strong", {}, key.name), " ", ended && badge(ended), h("div", {class: "note"}, key.id)),
    h("td", {}, key.run_id ? h("a", {href: `#/runs/${encodeURIComponent(key.run_id)}`}, t("shares one answer")) : rightsList(key.rights), key.origins.map((origin) => h("div", {class: "note"}, origin))),
    h("td", {}, limits.map(([unit, limit]) => h("div", {}, t("{limit} {unit} per day", {limit: number(limit), unit})))),
    h("td", {}, key.last_used_at ? formatTime(key.last_used_at) : t("never"), h("div", {class: "note"}, t("{count} today", {count: number(key.requests_today)}))),
    h("td", {}, key.expires_at ? formatTime(key.expires_at) : t("never")),
    h("td", {class: "actions"}, !ended && confirmButton(t("Revoke"), `revoke ${key.id}`, () => revoke(key), t("Requests with the key fail at once. As long as the bin has it, you can make it valid again."))));
}
