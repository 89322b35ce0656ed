/* Sharing an answer by a link. Settings → Keys lists the links and revokes them. */

import * as api from "../../lib/api.js";
import {h} from "../../lib/dom.js";
import {namesIn, shorten} from "../../lib/format.js";
import {phrase, t} from "../../lib/i18n.js";
import {choice, field, secretView, tryAction} from "../forms.js";

const DAYS = [["7", t("in 7 days")], ["30", t("in 30 days")], ["", t("never")]];
const DAY_MS = 86_400_000;

/** A button with a dialog that creates a link to the answer and the pages that it cites. */
export function shareButton(answer, collection) {
  return h("button", {type: "button", class: "quiet", on: {click: () => open(answer, collection)}}, t("Share a link …"));
}

function open(answer, collection) {
  const result = h("div", {"aria-live": "polite"});
  const expires = choice("expires", DAYS, "30");
  const create = () => tryAction(result, async () => {
    const {secret} = await api.addKey({
      name: shorten(`Link: ${answer.question}`, 100), run_id: answer.run_id,
      rights: Object.fromEntries(namesIn(collection).map((name) => [name, "read"])),
      expires_at: expires.value ? new Date(Date.now() + Number(expires.value) * DAY_MS).toISOString() : null,
    });
    result.replaceChildren(secretView(t("The link"), t("Copy it now. It is shown only once."), new URL(`shared/${secret}`, location.href.split("#")[0]).href));
  });
  const dialog = h("dialog", {"aria-label": t("Share a link"), on: {close: () => dialog.remove()}},
    h("h2", {}, t("Share a link")),
    h("p", {}, phrase("Whoever has the link can read this answer and the pages that it cites, and nothing else. {keys} lists and revokes links.", {keys: h("a", {href: "#/keys", on: {click: () => dialog.close()}}, t("Keys"))})),
    field(t("Expires"), expires), result,
    h("p", {class: "answers"}, h("button", {type: "button", on: {click: () => dialog.close()}}, t("Close")), " ",
      h("button", {type: "button", class: "main", on: {click: create}}, t("Create a link"))));
  document.body.append(dialog);
  dialog.showModal();
}
