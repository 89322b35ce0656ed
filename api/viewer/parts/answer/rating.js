/* Thumbs and a note for an answer. */

import * as api from "../../lib/api.js";
import {failure, h, svg} from "../../lib/dom.js";
import {tryAction} from "../forms.js";
import {t} from "../../lib/i18n.js";

const CHOICES = [["up", t("Good answer")], ["down", t("Bad answer")]];
const THUMB = "M2 10h4v11H2z M8 10l4-8c2 0 3 1 3 3l-1 4h6c1.5 0 2 1 2 2l-2 8c-.3 1-1 2-2 2H8z"; // up

/** The buttons and, for a rated answer, the note. The rating is read from the service. */
export function ratingView(runId) {
  const element = h("div", {class: "rating", role: "group", "aria-label": t("Your rating")});
  const errorBox = h("div", {});
  const show = ({rating, note}, saved = "") => {
    const save = (chosen, text, message) => tryAction(errorBox, async () => show(await api.rate(runId, chosen, text), message));
    element.replaceChildren(h("span", {class: "note"}, t("Is this answer good?")),
      ...CHOICES.map(([value, label]) => h("button", {
        type: "button", title: label, "aria-label": label, "aria-pressed": String(rating === value), "data-key": `rate ${value}`,
        on: {click: () => save(rating === value ? null : value, rating === value ? "" : note, rating === value ? t("Rating removed.") : t("Rated."))},
      }, thumb(value))),
      h("span", {class: "note", role: "status"}, saved),
      ...(rating ? [noteForm(rating, note, (text) => save(rating, text, t("Note saved.")))] : []), errorBox);
  };
  api.run(runId).then(({run}) => show(run), (error) => element.replaceChildren(failure(error)));
  return element;
}

/** A drawing, because not every system has a font with thumbs. */
function thumb(value) {
  return svg("svg", {viewBox: "0 0 24 24", width: 20, height: 20, class: value, "aria-hidden": "true"}, svg("path", {d: THUMB, fill: "currentColor"}));
}

function noteForm(rating, note, save) {
  const input = h("textarea", {
    rows: 2, "aria-label": t("Note about the answer"), maxlength: 10_000,
    placeholder: rating === "up" ? t("What is good about it?") : t("What is wrong? What is the right answer?"),
  });
  input.value = note;
  return h("form", {on: {submit: (event) => {
    event.preventDefault();
    save(input.value);
  }}}, input, h("button", {type: "submit"}, t("Save note")));
}

/** Return the rating of a run in words. */
export function ratingInWords({rating, note}) {
  const rated = rating === "up" ? t("rated up") : t("rated down");
  return note ? t("{rated}, with a note", {rated}) : rated;
}
