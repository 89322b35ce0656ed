"""Measure the headings and issuers of whole reports: what stands above too many pages, and who issued them.

    python -m benchmarks.outlines DATA/annual-reports/docs DATA/sec-10-q/docs
    python -m benchmarks.outlines …  --outlines     also print each heading with its share of the pages

For each report: the largest share of its pages below one heading, and the issuer. A heading above most of a report says
nothing about a passage. The target is at most a third, in reports of 50 pages or more. ``benchmarks/issuers.json`` has
the issuer of each file as the report prints it, for the 12 annual and 20 quarterly reports. An issuer is right, empty
or wrong. Case and the final full stop do not matter.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ingest.document import CAPTION, ISSUER, Block, BlockKind, ParsedDocument
from ingest.facts.facts import find_facts
from ingest.parsers.default import DocumentParser
from ingest.pipeline.parse_file import with_language
from ingest.reader import OcrMode, ParserOptions

EXPECTED = Path(__file__).with_name("issuers.json")
TARGET, LONG = 1 / 3, 50


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folders", type=Path, nargs="+")
    options.add_argument("--outlines", action="store_true", help="also print each heading with its share of the pages")
    chosen = options.parse_args()
    parser = DocumentParser(ParserOptions(ocr=OcrMode.NEVER))
    expected: dict[str, str] = json.loads(EXPECTED.read_text(encoding="utf-8"))
    issuers: Counter[str] = Counter()
    large = reports = 0
    for path in sorted(path for folder in chosen.folders for path in folder.glob("*.pdf")):
        parsed = with_language(parser.parse(path))
        headings = list(shares(parsed))
        largest = max(headings, default=(1.0, 0, "no heading"))
        pages = page_at(parsed, len(parsed.text))
        reports += pages >= LONG
        large += pages >= LONG and largest[0] > TARGET
        fact = find_facts(parsed).get(ISSUER)
        verdict = judge(fact.value if fact else "", expected.get(path.name))
        issuers[verdict] += 1
        print(f"{path.name}\t{pages} pages\t{largest[0]:.0%} below {largest[2]!r}\t{verdict}: {fact and fact.value}")
        for share, level, text in headings if chosen.outlines else ():
            print(f"  {share:4.0%} {'  ' * level}{text}")
    print(f"\n{large} of {reports} reports of {LONG} pages or more have a heading above more than a third")
    print("issuers: " + ", ".join(f"{name} {issuers[name]}" for name in ("right", "empty", "wrong", "not labelled")))


def shares(parsed: ParsedDocument) -> Iterator[tuple[float, int, str]]:
    """Yield the share of the pages that each heading stands above, its level and its text."""
    headings = [block for block in parsed.blocks if block.kind is BlockKind.HEADING and block.level != CAPTION]
    for index, heading in enumerate(headings):
        after = (other.start for other in headings[index + 1 :] if other.level <= heading.level)
        end = next(after, len(parsed.text))
        pages = page_at(parsed, end - 1) - page_at(parsed, heading.start) + 1
        share = pages / page_at(parsed, len(parsed.text))
        yield share, heading.level, text_of(parsed, heading)


def page_at(parsed: ParsedDocument, position: int) -> int:
    return max((page.number for page in parsed.pages if page.start <= position), default=1)


def text_of(parsed: ParsedDocument, block: Block) -> str:
    return parsed.text[block.start : block.end][:100]


def judge(found: str, expected: str | None) -> str:
    """Return whether the issuer is right, empty or wrong, or not labelled."""
    if expected is None:
        return "not labelled"
    if not found:
        return "empty"
    return "right" if plain(found) == plain(expected) else "wrong"


def plain(name: str) -> str:
    return name.casefold().rstrip(".")


if __name__ == "__main__":
    main()
