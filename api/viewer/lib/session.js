/* The API key of this tab and the rights of its holder. */

const ITEM = "candor-key";
const RIGHTS = ["read", "write", "admin"]; // each includes those before it
const ALL = "*";

/** Dispatches "needed" when the server requires a key. `me` is the response of GET /v1/me. */
export const session = Object.assign(new EventTarget(), {me: null});

/** Return the request header with the key. */
export function authorization() {
  const key = sessionStorage.getItem(ITEM);
  return key ? {Authorization: `Bearer ${key}`} : {};
}

export function hasKey() {
  return sessionStorage.getItem(ITEM) !== null;
}

export function storeKey(key) {
  sessionStorage.setItem(ITEM, key);
}

export function forgetKey() {
  sessionStorage.removeItem(ITEM);
}

export function keyNeeded() {
  session.dispatchEvent(new Event("needed"));
}

/** Return whether the holder has a right over a collection, or each of several (`mail+papers`). The server enforces it; the page only hides controls. */
export function may(right, collection) {
  const covers = (granted) => RIGHTS.indexOf(granted) >= RIGHTS.indexOf(right);
  return covers(session.me.rights[ALL]) || collection.split("+").every((name) => covers(session.me.rights[name]));
}

/** Return whether the holder owns the service: keys, agents and all collections. */
export function owner() {
  return session.me.owner;
}
