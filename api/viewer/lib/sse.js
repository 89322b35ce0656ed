/* Server-sent events read from a response body: the browser's EventSource cannot send the API key. */

import {Interrupted} from "./errors.js";

/** Yield the data of each event as it arrives; "" for a keep-alive. Throws Interrupted. */
export async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const {done, value} = await read(reader);
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop(); // the last one may be incomplete
      yield* blocks.map(dataOf);
    }
  } finally {
    reader.cancel().catch(() => {}); // the stream may be closed already
  }
}

async function read(reader) {
  try {
    return await reader.read();
  } catch (error) {
    throw new Interrupted(error.message);
  }
}

function dataOf(block) {
  return block.split("\n").filter((line) => line.startsWith("data:")).map((line) => line.slice(5).trimStart()).join("\n");
}
