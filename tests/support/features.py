"""Reads the list of sample files, one of each format, with what must come out of each, and writes those not stored.

python -m support.features      # from the folder tests: writes the table of docs/formats.md again
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from support.feature_files import WRITERS

TESTS = Path(__file__).parents[1]
FOLDER = TESTS / "ingest" / "features"
CASES = TESTS / "ingest" / "cases"
PAGE = TESTS.parent / "docs" / "formats.md"
_TABLE = re.compile(r"(?<=<!-- features -->\n)(?:.*\n)*?(?=<!-- end of features -->)")


class Sample(NamedTuple):
    """A file, its reading library, and its passages by the feature that they show."""

    format: str
    library: str
    file: str
    """A name in the folder of samples, one that a writer has, or a path in ``tests/ingest/cases``."""
    read: Mapping[str, str]
    left_out: Mapping[str, str]
    """Passages that are not read on purpose."""
    lost: Mapping[str, str]

    def path(self, folder: Path) -> Path:
        """Return the path of the file. It is written to the folder if it is not stored."""
        if self.file in WRITERS:
            WRITERS[self.file](folder / self.file)
            return folder / self.file
        return next(path for path in (FOLDER / self.file, CASES / self.file) if path.exists())


def samples() -> list[Sample]:
    """Return the samples in the order of the table."""
    found: list[dict[str, Any]] = tomllib.loads((FOLDER / "features.toml").read_text(encoding="utf-8"))["sample"]
    return [
        Sample(each["format"], each["library"], each["file"], *(each.get(kind, {}) for kind in Sample._fields[3:]))
        for each in found
    ]


def write_table() -> str:
    """Return the table of formats, features and libraries in Markdown."""
    lines = ["| format | read | left out on purpose | not read | library |", "|---|---|---|---|---|"]
    for sample in samples():
        features = (", ".join(sorted(each)) for each in (sample.read, sample.left_out, sample.lost))
        lines.append(f"| {' | '.join((sample.format, *features, sample.library))} |")
    return "\n".join(re.sub(r"(?<=\|) +(?=\|)", " ", line) for line in lines) + "\n"


def table_of(page: str) -> str:
    """Return the table that the page has."""
    found = _TABLE.search(page)
    assert found is not None, "docs/formats.md has lost the marks around its table of features"
    return found[0]


if __name__ == "__main__":
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(_TABLE.sub(lambda _: write_table(), text), encoding="utf-8")
