"""Print the facts that ingest finds in files, for a manual check: one line per fact, then the file count of each fact.

    python -m benchmarks.facts DATA/annual-reports/docs DATA/sec-10-q/docs

The benchmark skips archives, scans and files that cannot be read: OCR is off. The last line shows the CPU seconds of
parsing and of finding facts.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from pathlib import Path

from ingest.document import CURRENCY, ISSUER, PERIOD, TITLE
from ingest.errors import FileError
from ingest.facts.facts import find_facts
from ingest.parsers.default import DocumentParser
from ingest.pipeline.parse_file import with_language
from ingest.reader import OcrMode, ParserOptions


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("folders", type=Path, nargs="+")
    parser = DocumentParser(ParserOptions(ocr=OcrMode.NEVER))
    found: Counter[str] = Counter()
    files, parsing, finding = 0, 0.0, 0.0
    for folder in options.parse_args().folders:
        for path in sorted(each for each in folder.rglob("*") if each.is_file()):
            started = time.process_time()
            try:
                parsed = with_language(parser.parse(path))
            except FileError:
                continue
            parsed_at = time.process_time()
            facts = find_facts(parsed)
            files, parsing, finding = (
                files + 1, parsing + parsed_at - started, finding + time.process_time() - parsed_at
            )  # fmt: skip
            found.update(facts.keys())
            for name, fact in facts.items():
                page = f", page {fact.page}" if fact.page else ""
                print(f"{path.name}\t{name}\t{fact.value}\t{fact.source.value}{page}\t{fact.quote}")
    print(f"\n{files} files: " + ", ".join(f"{name} {found[name]}" for name in (TITLE, ISSUER, PERIOD, CURRENCY)))
    print(f"CPU seconds: parsing {parsing:.1f}, facts {finding:.1f}")


if __name__ == "__main__":
    main()
