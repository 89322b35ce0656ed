/* Words that a person searches for, marked wherever they stand in some elements. The elements stay as they are: the marks
are the browser's own highlights. */

const NAME = "hit";
const MOST = 2000; // marks at once

export class Hits {
  constructor(...roots) {
    Object.assign(this, {roots, pattern: null, sought: null});
    this.observer = new MutationObserver(() => this.mark());
    for (const root of roots) this.observer.observe(root, {childList: true, subtree: true});
  }

  close() {
    this.observer.disconnect();
    CSS.highlights.delete(NAME);
  }

  /** Mark these words from now on, also in what is yet to come; none if they are empty. */
  search(words) {
    this.pattern = words ? new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu") : null;
    this.mark();
  }

  /** Scroll `root` to its first mark, as soon as it has one. */
  reveal(root) {
    this.sought = root;
    this.mark();
  }

  mark() {
    const ranges = this.pattern ? this.roots.flatMap((root) => rangesIn(root, this.pattern)).slice(0, MOST) : [];
    CSS.highlights.set(NAME, new Highlight(...ranges));
    const first = this.sought && ranges.find((range) => this.sought.contains(range.startContainer));
    if (!first) return;
    const {top} = first.getBoundingClientRect();
    const frame = this.sought.getBoundingClientRect();
    this.sought.scrollTop += top - frame.top - frame.height / 3;
    this.sought = null;
  }
}

function rangesIn(root, pattern) {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    for (const {index, 0: {length}} of walker.currentNode.data.matchAll(pattern)) {
      const range = new Range();
      range.setStart(walker.currentNode, index);
      range.setEnd(walker.currentNode, index + length);
      found.push(range);
    }
  }
  return found;
}
