/* Creating elements. All text of documents and models enters the page here, as text nodes, never as HTML. */

import {t, term} from "./i18n.js";

const SVG = "http://www.w3.org/2000/svg";

/** Create an element: h("a", {class: "step", href: "#/", on: {click: open}}, "text", child, …). */
export function h(tag, props = {}, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Create an SVG element. */
export function svg(tag, props = {}, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props)) {
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else if (value === true) {
      element.setAttribute(name, "");
    } else if (value !== false && value !== null && value !== undefined) {
      element.setAttribute(name, value);
    }
  }
  element.append(...children.flat(Infinity).filter((child) => child || child === 0).map(asNode));
  return element;
}

function asNode(child) {
  return child instanceof Node ? child : document.createTextNode(String(child));
}

/** Replace the children of a container. Keeps open folds, focus and scroll position. */
export function replace(container, ...children) {
  const opened = new Set([...container.querySelectorAll("details[open][data-key]")].map((each) => each.dataset.key));
  const focused = container.contains(document.activeElement) ? document.activeElement.dataset?.key : null;
  const scrolled = container.scrollTop;
  container.replaceChildren(...children.flat(Infinity).filter(Boolean).map(asNode));
  for (const each of container.querySelectorAll("details[data-key]")) {
    if (opened.has(each.dataset.key)) each.open = true;
  }
  if (focused) {
    [...container.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused)?.focus();
  }
  container.scrollTop = scrolled;
}

/** Create a <details> element that builds its body when first opened. `replace` keeps it open by its `key`. */
export function fold(key, summary, make, open = false) {
  const body = h("div", {class: "fold-body"});
  const details = h("details", {"data-key": key}, h("summary", {}, summary), body);
  let made = false;
  const build = async () => {
    if (!details.open || made) return;
    made = true;
    body.replaceChildren(loading());
    try {
      body.replaceChildren(...[await make()].flat(Infinity).filter(Boolean).map(asNode));
    } catch (error) {
      made = false;
      body.replaceChildren(failure(error));
    }
  };
  details.addEventListener("toggle", build);
  details.open = open;
  return details;
}

/** Create a loading indicator. */
export function loading(what = t("Loading")) {
  return h("p", {class: "loading", role: "status"}, `${what}…`);
}

/** Create the display of an error with its remedy; with `retry`, a button that calls it. */
export function failure(error, retry = null) {
  return h("div", {class: "failure", role: "alert"},
    h("strong", {}, error.title ?? t("Something went wrong")),
    h("p", {}, error.message),
    error.remedy && h("p", {}, error.remedy),
    retry && h("button", {type: "button", on: {click: retry}}, t("Try again")));
}

/** Create an empty state: a title and hints. */
export function empty(title, ...more) {
  return h("div", {class: "empty"}, h("strong", {}, title), ...more.map((each) => h("p", {}, each)));
}

/** Create a colored badge with a status. */
export function badge(status) {
  return h("span", {class: `badge is-${status}`}, term(status));
}
