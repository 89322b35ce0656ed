"""Measure whether the passages that fill the cells of long documents have the right figures.

    python -m benchmarks.cells --data DATA/sec-10-q --home HOME

Ingests 20 quarterly reports and reads the passages for a table of eight columns, as ``candor table fill`` does. A cell
of one of the four columns in quarterly_cells.jsonl is offered if one of its passages has the figure as the report
prints it; for the largest segment, the revenue of this segment. The second reading has the cells that the first one
does not offer, and the auditor, whom most reports do not name. No model is asked. Calls are counted for all columns.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import load_settings
from multi_agent.settings.research import ResearchSettings
from multi_agent.tables.reading import CellReader, OpenCells
from multi_agent.tables.values import Column
from vectorstore.models import Chunk

WINDOWS = (8_192, 16_384, 32_768)
HALVES = (("2022 Q3", "2023 Q1"), ("2023 Q2", "2023 Q3"))
"""Quarters in the names of the files. The defaults were chosen with the second half."""
AUDITOR = "Auditor"
COLUMNS = tuple(
    map(
        Column.parse,
        (
            "Issuer",
            "Ends=End of the quarter:date",
            "Revenue=Revenue of the quarter:number(USD million)",
            "Net income=Net income of the quarter:number(USD million)",
            "Shares=Number of shares outstanding on the cover page:number",
            "Largest segment=Segment with the highest revenue in the quarter",
            "Legal proceedings=Is the company party to legal proceedings?:yes_no",
            f"{AUDITOR}=Name of the independent auditor",
        ),
    )
)


def main() -> None:
    """Ingest the reports, select the passages, print a line for each window and half of the reports."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--data", type=Path, required=True, help="the folder of sec-10-q")
    options.add_argument("--home", type=Path, required=True, help="an empty folder, or that of an earlier measurement")
    chosen = options.parse_args()
    with Path(__file__).with_name("quarterly_cells.jsonl").open() as lines:
        gold = {each["file"]: each["printed"] for each in map(json.loads, lines)}
    candor = Candor(load_settings(chosen.home))
    run_ingest(candor, [chosen.data / "docs"], "filings", progress=True)
    with candor.collections.open_library("filings") as library:
        entries = {entry.name: entry for entry in library.catalogue()}
        for window in WINDOWS:
            settings = ResearchSettings().for_window(window, window)
            tokens = settings.tokens_per_row
            reader = CellReader(library, cast(Any, None), tokens, settings.reader_passages)
            for half in HALVES:
                counts: Counter[str] = Counter()
                for name in (each for each in gold if each.startswith(half)):
                    for cells in OpenCells.of(entries[name], COLUMNS, tokens):
                        counts.update(_count(reader, cells, gold[name]))
                print(f"window {window}, {tokens} tokens, {' and '.join(half)}: {dict(counts)}")


def _count(reader: CellReader, wanted: OpenCells, printed: dict[str, list[str]]) -> Iterable[str]:
    """Yield what to count of one call: its cells, those that each reading offers, and the calls."""
    read = reader.passages(wanted)
    asked = [column for column in wanted.columns if column.name in printed]
    missing = [column for column in asked if not _has(read, printed[column.name])]
    yield from ["calls", *(["cells"] * len(asked)), *(["first"] * (len(asked) - len(missing)))]
    again = [*missing, *(column for column in wanted.columns if column.name == AUDITOR)]
    if again:
        more = reader.further(replace(wanted, columns=tuple(again)), read)
        yield from ["calls", *(["second"] * sum(_has(more, printed[column.name]) for column in missing))]


def _has(chunks: Iterable[Chunk], printed: Iterable[str]) -> bool:
    pattern = re.compile("|".join(rf"(?<![\d,.]){re.escape(text)}(?![\d,])" for text in printed))
    return any(pattern.search(chunk.reading_text) for chunk in chunks)


if __name__ == "__main__":
    main()
