/* Settings of this browser, and links to other settings. */

import {h} from "../lib/dom.js";
import {setTheme, theme, THEMES} from "../lib/theme.js";
import {owner} from "../lib/session.js";
import {choice} from "../parts/forms.js";
import {storedRuns} from "../parts/stored-runs.js";

export function showSettings(container) {
  const colors = choice("theme", THEMES, theme());
  colors.id = "theme";
  colors.addEventListener("change", () => setTheme(colors.value));
  container.append(h("h1", {}, "Settings"),
    h("section", {}, h("p", {class: "inline"}, h("label", {for: "theme"}, "Colors"), colors), h("p", {class: "note"}, "Stored in this browser.")),
    ...(owner() ? [storedRuns()] : []),
    h("section", {}, h("h2", {}, "For programs"), h("p", {class: "line"}, h("a", {href: "docs"}, "Documentation of the REST API"))));
  return {};
}
