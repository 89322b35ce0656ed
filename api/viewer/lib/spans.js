/* Text spans. The server counts characters (code points), JavaScript strings count UTF-16 units. */

const SURROGATE = /[\ud800-\udfff]/;

/** Return a function that converts the server's offsets in `text` to string offsets. */
export function offsetsIn(text) {
  if (!SURROGATE.test(text)) return (offset) => Math.min(offset, text.length);
  const long = []; // code point offsets of all characters that take two units
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

/** Split `text` from `start` to `end` into segments, each with the marks ([{start, end, …}]) that cover it. */
export function segments(text, start, end, marks) {
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

/** Join the lines of paragraphs, which a page has broken. Rows of tables, items of lists and empty lines stay lines. */
export function joined(text) {
  return text.replace(/(?<=[^|\s])[^\S\n]*\n(?=[^\S\n]*[^|\s•*\-–\d])/gu, " ");
}

/**
 * Return the marks of tables that are written with pipes: one for each table, which covers its text, and one for each
 * cell: {start, end, table, row, column, isHead}. A line of dashes below the first row makes that row the head.
 */
export function pipeCells(text) {
  const marks = [];
  for (const block of text.matchAll(/(?:^[^\S\n]*\|.*\|[^\S\n]*(?:\n|$))+(?:^[^\S\n]*\|.*(?![\s\S]))?/gm)) {
    const table = {start: block.index, end: block.index + block[0].length, isTable: true};
    const lines = [...block[0].matchAll(/[^\n]+/g)];
    const isRule = (line) => line && /^[\s|:-]+$/.test(line[0]) && line[0].includes("-");
    const rows = lines.filter((line) => !isRule(line));
    marks.push(table);
    for (const [row, line] of rows.entries()) {
      const whole = /\|\s*$/.test(line[0]) ? line[0] : `${line[0]}|`; // a text may end within its last row
      for (const [column, cell] of [...whole.matchAll(/(?<=\|)(?:\\.|[^|\\])*(?=\|)/g)].entries()) {
        const start = block.index + line.index + cell.index;
        marks.push({start, end: start + cell[0].length, table: block.index, isCell: true, row, column, isHead: row === 0 && Boolean(isRule(lines[1]))});
      }
    }
  }
  return marks;
}
