/* Server-sent events, read from the body of a response: the browser's own reader of them sends no key. */

import {Interrupted} from "./errors.js";

/** The data of each block as it arrives; empty for one that only says that the connection lives. Throws Interrupted. */
export async function* messages(body) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const {done, value} = await read(reader);
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop(); // the last one is not whole yet
      yield* blocks.map(dataOf);
    }
  } finally {
    reader.cancel().catch(() => {}); // it may have been broken already: then there is nothing to cancel
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
