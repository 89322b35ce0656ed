/* The bin: deleted items, each with buttons to restore it or remove it permanently. */

import * as api from "../lib/api.js";
import {badge, empty, failure, h, loading} from "../lib/dom.js";
import {confirmButton, tryAction} from "../parts/forms.js";
import {fileSize, formatTime, shorten} from "../lib/format.js";
import {t, term} from "../lib/i18n.js";

export function showBin(container) {
  const errorBox = h("div", {});
  const list = h("div", {}, loading());
  const done = h("p", {role: "status"});
  let closed = false;
  container.append(h("h1", {}, t("Bin")), errorBox, done, list);

  async function load() {
    try {
      const entries = await api.bin();
      if (!closed) list.replaceChildren(entries.length ? table(entries, act) : empty(t("The bin is empty"), t("Deleted items stay here until they are removed permanently.")));
    } catch (error) {
      list.replaceChildren(failure(error, load));
    }
  }

  const act = (work, entry, text) => tryAction(errorBox, async () => {
    await work(entry.id);
    done.textContent = `${text}: ${term(entry.kind)} ${shorten(entry.name, 60)}.`;
    await load();
  });

  load();
  return {close() { closed = true; }};
}

function table(entries, act) {
  return h("div", {class: "wide"}, h("table", {},
    h("thead", {}, h("tr", {}, [t("Deleted"), t("When")].map((name) => h("th", {scope: "col"}, name)))),
    h("tbody", {}, entries.map((each) => h("tr", {},
      h("td", {}, badge(each.kind), " ", h("strong", {}, shorten(each.name)),
        h("div", {class: "note"}, [each.kind !== "collection" && each.collection, each.size > 0 && fileSize(each.size)].filter(Boolean).join(" · ")),
        h("div", {class: "inline"}, h("button", {type: "button", "data-key": `restore ${each.id}`, on: {click: () => act(api.restoreFromBin, each, t("Restored"))}}, t("Restore")),
          confirmButton(t("Remove permanently"), `remove ${each.id}`, () => act(api.removeFromBin, each, t("Removed permanently"))))),
      h("td", {class: "when"}, formatTime(each.deleted_at), h("div", {class: "note"}, t("by {deletedBy}", {deletedBy: each.deleted_by})), h("div", {class: "note"}, t("Kept until {time}", {time: formatTime(each.removed_at)}))))))));
}
