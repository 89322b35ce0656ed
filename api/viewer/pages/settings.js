/* Settings of this browser, and links to other settings. */

import {h} from "../lib/dom.js";
import {setTheme, theme} from "../lib/theme.js";
import {owner} from "../lib/session.js";
import {choice} from "../parts/forms.js";
import {storedRuns} from "../parts/stored-runs.js";
import {t} from "../lib/i18n.js";

const THEMES = [["", t("As the system")], ["light", t("Light")], ["dark", t("Dark")]];

export function showSettings(container) {
  const colors = choice("theme", THEMES, theme());
  colors.id = "theme";
  colors.addEventListener("change", () => setTheme(colors.value));
  container.append(h("h1", {}, t("Settings")),
    h("section", {}, h("p", {class: "inline"}, h("label", {for: "theme"}, t("Colors")), colors), h("p", {class: "note"}, t("Stored in this browser."))),
    ...(owner() ? [storedRuns()] : []),
    h("section", {}, h("h2", {}, t("For programs")), h("p", {class: "line"}, h("a", {href: "docs"}, t("Documentation of the REST API")))));
  return {};
}
