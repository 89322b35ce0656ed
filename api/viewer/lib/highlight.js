/* Highlights the matches of a search, with the CSS Custom Highlight API: the elements are not changed. */

const NAME = "hit";
const MAX_HIGHLIGHTS = 2000;

export class Highlighter {
  constructor(...roots) {
    this.roots = roots; this.pattern = null; this.scrollTarget = null;
    this.observer = new MutationObserver(() => this.update());
    for (const root of roots) this.observer.observe(root, {childList: true, subtree: true});
  }

  close() {
    this.observer.disconnect();
    CSS.highlights.delete(NAME);
  }

  /** Highlight the words, also in content added later. Empty words remove the highlights. */
  search(words) {
    this.pattern = words ? new RegExp(words.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"), "giu") : null;
    this.update();
  }

  /** Scroll `root` to its first highlight, as soon as there is one. */
  reveal(root) {
    this.scrollTarget = root;
    this.update();
  }

  update() {
    const ranges = this.pattern ? this.roots.flatMap((root) => findRanges(root, this.pattern)).slice(0, MAX_HIGHLIGHTS) : [];
    CSS.highlights.set(NAME, new Highlight(...ranges));
    const first = this.scrollTarget && ranges.find((range) => this.scrollTarget.contains(range.startContainer));
    if (!first) return;
    const {top} = first.getBoundingClientRect();
    const frame = this.scrollTarget.getBoundingClientRect();
    this.scrollTarget.scrollTop += top - frame.top - frame.height / 3;
    this.scrollTarget = null;
  }
}

function findRanges(root, pattern) {
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
