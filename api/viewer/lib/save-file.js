/* Giving a person a file. A link to the service would not say who asks: it is fetched with the key, and then saved. */

import {h} from "./dom.js";

/** Let the browser save this content under this name. */
export function give({name, content}) {
  const address = URL.createObjectURL(content);
  h("a", {href: address, download: name}).click();
  URL.revokeObjectURL(address);
}
