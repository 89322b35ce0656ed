/* Places in a text. The server counts characters (code points), a JavaScript string counts UTF-16 units. */

const SURROGATE = /[\ud800-\udfff]/;

/** A function from the server's offsets into `text` to the string's own. */
export function offsetsIn(text) {
  if (!SURROGATE.test(text)) return (offset) => Math.min(offset, text.length);
  const long = []; // the code point offsets of all characters that take two units
  let at = 0;
  for (const character of text) {
    if (character.length === 2) long.push(at);
    at += 1;
  }
  return (offset) => Math.min(offset + countBelow(long, offset), text.length);
}

function countBelow(sorted, limit) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** `text` from `start` to `end` as pieces, each with the set of marks (of [{start, end, …}]) that cover it. */
export function pieces(text, start, end, marks) {
  const cuts = new Set([start, end]);
  for (const mark of marks) {
    for (const cut of [mark.start, mark.end]) if (cut > start && cut < end) cuts.add(cut);
  }
  const ordered = [...cuts].sort((a, b) => a - b);
  return ordered.slice(0, -1).map((from, index) => {
    const to = ordered[index + 1];
    return {text: text.slice(from, to), start: from, marks: marks.filter((mark) => mark.start <= from && mark.end >= to)};
  });
}
