/* Saving a file. A plain link would not send the API key, so files are fetched first and then saved. */

import {h} from "./dom.js";

/** Make the browser download the content under the name. */
export function saveFile({name, content}) {
  const url = URL.createObjectURL(content);
  h("a", {href: url, download: name}).click();
  URL.revokeObjectURL(url);
}
