/* Who is at the page: the key that they gave, kept for this tab alone, and what its holder may do. */

const ITEM = "candor-key";
const RIGHTS = ["read", "write", "admin"]; // each holds the ones before it
const EVERYTHING = "*";

/** Tells "needed" when the server wants a key, or another one. `me` is what the server knows of who asks. */
export const session = Object.assign(new EventTarget(), {me: null});

/** The header that says who asks. */
export function authorization() {
  const key = sessionStorage.getItem(ITEM);
  return key ? {Authorization: `Bearer ${key}`} : {};
}

export function hasKey() {
  return sessionStorage.getItem(ITEM) !== null;
}

export function keepKey(key) {
  sessionStorage.setItem(ITEM, key);
}

export function forgetKey() {
  sessionStorage.removeItem(ITEM);
}

export function keyNeeded() {
  session.dispatchEvent(new Event("needed"));
}

/** Whether who is here has this right over the collection. The server decides; the page only hides what it would refuse. */
export function may(right, collection) {
  const granted = [session.me.rights[collection], session.me.rights[EVERYTHING]];
  return granted.some((each) => RIGHTS.indexOf(each) >= RIGHTS.indexOf(right));
}

/** Whether all is theirs: keys, agents, and every collection. */
export function owner() {
  return session.me.owner;
}
