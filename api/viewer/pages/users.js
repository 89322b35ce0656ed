/* Users: who they are, invitations by link, and disabling. */

import * as api from "../lib/api.js";
import {badge, failure, h, loading} from "../lib/dom.js";
import {actionsHead, choice, confirmButton, field, secretView, tryAction} from "../parts/forms.js";
import {RIGHTS, rightsList} from "./keys.js";
import {t} from "../lib/i18n.js";

export function showUsers(container) {
  const errorBox = h("div", {});
  const invited = h("div", {"aria-live": "polite"});
  const list = h("div", {}, loading());
  const form = h("div", {});
  container.append(h("h1", {}, t("Users")), errorBox, invited, form, list);
  const act = (change) => tryAction(errorBox, async () => {
    await change();
    await load();
  });

  async function invite(user) {
    const {link} = await api.inviteUser(user.id);
    invited.replaceChildren(secretView(t("The invitation for {name}", {name: user.name}), t("Send this link. It is shown only once, and valid for 7 days."), link));
  }

  async function load() {
    try {
      const [users, groups, collections] = await Promise.all([api.users(), api.groups(), api.collections()]);
      form.replaceChildren(userForm(groups, collections, (user) => act(async () => invite(await api.addUser(user)))));
      list.replaceChildren(users.length ? table(users, {
        invite: (user) => act(() => invite(user)),
        disable: (user, disabled) => act(() => api.changeUser(user.id, {disabled})),
      }) : h("p", {class: "note"}, t("No users yet. Groups and their rights are set with: candor users group.")));
    } catch (error) {
      list.replaceChildren(failure(error, load));
    }
  }

  load();
  return {};
}

function userForm(groups, collections, add) {
  const form = h("form", {class: "card", on: {submit: (event) => {
    event.preventDefault();
    const given = new FormData(form);
    add({
      name: given.get("name"),
      groups: given.get("group") ? [given.get("group")] : [],
      rights: given.get("collection") ? {[String(given.get("collection"))]: given.get("right")} : {},
    });
  }}},
  field(t("Name"), h("input", {name: "name", required: true, maxlength: 100})),
  h("div", {class: "choices"},
    field(t("Group"), choice("group", [["", t("none")], ...groups.map(({name}) => [name, name])])),
    field(t("Right"), choice("right", RIGHTS, "read")),
    field(t("Collection"), choice("collection", [["", t("none")], ["*", t("all collections and the service")], ...collections.map(({name}) => [name, name])])),
    h("button", {type: "submit", class: "main"}, t("Add and invite"))));
  return h("details", {"data-key": "new user"}, h("summary", {}, t("Add a user")), form);
}

function table(users, {invite, disable}) {
  return h("div", {class: "wide"}, h("table", {},
    h("thead", {}, h("tr", {}, [...[t("User"), t("Groups"), t("Own rights")].map((name) => h("th", {scope: "col"}, name)), actionsHead()])),
    h("tbody", {}, users.map((user) => h("tr", {},
      h("td", {}, h("strong", {}, user.name), " ", user.disabled && badge("disabled"), h("div", {class: "note"}, user.email)),
      h("td", {}, user.groups.join(", ")),
      h("td", {}, rightsList(user.rights)),
      h("td", {class: "actions"}, user.disabled
        ? h("button", {type: "button", class: "quiet", on: {click: () => disable(user, false)}}, t("Enable"))
        : [h("button", {type: "button", class: "quiet", on: {click: () => invite(user)}}, user.has_password ? t("New password") : t("Invite")), " ",
          confirmButton(t("Disable"), `disable ${user.id}`, () => disable(user, true), t("Sessions and keys of the user end at once."))]))))));
}
