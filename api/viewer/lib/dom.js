/* Making elements. What comes from documents and models reaches the page through here only, as text, never as HTML. */

const SVG = "http://www.w3.org/2000/svg";

/** An element: h("a", {class: "step", href: "#/", on: {click: open}}, "text", child, …). */
export function h(tag, props = {}, ...children) {
  return filled(document.createElement(tag), props, children);
}

/** The same for SVG. */
export function svg(tag, props = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), props, children);
}

function filled(element, props, children) {
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

/** Put new contents in place of old ones, and keep what a person had opened, focused and scrolled to. */
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

/** A part that is made when it is opened for the first time. `key` lets it stay open when its surroundings change. */
export function fold(key, summary, make, open = false) {
  const body = h("div", {class: "fold-body"});
  const details = h("details", {"data-key": key}, h("summary", {}, summary), body);
  let made = false;
  const fill = async () => {
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
  details.addEventListener("toggle", fill);
  details.open = open;
  return details;
}

/** What is shown while something is on its way. */
export function loading(what = "Loading") {
  return h("p", {class: "loading", role: "status"}, `${what}…`);
}

/** An error, with what to do about it. */
export function failure(error, again = null) {
  return h("div", {class: "failure", role: "alert"},
    h("strong", {}, error.title ?? "That did not work"),
    h("p", {}, error.message),
    error.remedy && h("p", {}, error.remedy),
    again && h("button", {type: "button", on: {click: again}}, "Try again"));
}

/** What is shown where there is nothing. */
export function empty(title, ...more) {
  return h("div", {class: "empty"}, h("strong", {}, title), ...more.map((each) => h("p", {}, each)));
}

/** A status, by colour and by its word. */
export function badge(status) {
  return h("span", {class: `badge is-${status}`}, status);
}
