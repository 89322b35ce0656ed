/* A page whose content is loaded at once: loading, content, or the failure with a button to try again. */

import * as api from "../lib/api.js";
import {failure, h, loading} from "../lib/dom.js";
import {RequestError} from "../lib/errors.js";

/** Show `view(await request())` in the container, below the title until then. Loads again when the connection is back. */
export function showLoaded(container, title, request, view) {
  const heading = h("h1", {}, title);
  const body = h("div", {}, heading, loading());
  let closed = false;
  container.append(body);

  async function load() {
    try {
      const found = await request();
      if (!closed) body.replaceChildren(...view(found));
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      if (!closed) body.replaceChildren(heading, failure(error, load));
    }
  }

  api.connection.addEventListener("online", load);
  load();
  return {close() {
    closed = true;
    api.connection.removeEventListener("online", load);
  }};
}
