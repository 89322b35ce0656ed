"""Damaged copies of real files: each ends indexed or failed with a reason. See also benchmarks/fuzz/files.py."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from api.bootstrap import Candor
from benchmarks.fuzz.files import SAMPLES, has_ended, ingest, mutants, seed_files
from ingest.errors import FileError
from ingest.isolation.isolated_parser import IsolatedParser
from ingest.settings import IngestSettings
from support.files import write_docx, write_pdf, write_xlsx
from support.waiting import LIMIT_S

MUTANTS = 36


@pytest.fixture
def seeds(tmp_path: Path) -> list[Path]:
    """Return small sample documents, and generated files of more formats."""
    made = tmp_path / "made"
    made.mkdir()
    write_pdf(made / "a.pdf", parts=[("h1", "Pumps"), "They pump.", ("table", [("kW", "m"), ("5", "7")])])
    write_docx(made / "b.docx", [("h1", "Pumps"), "They pump.", ("table", [("kW", "m"), ("5", "7")])])
    write_xlsx(made / "c.xlsx", {"Pumps": [["kW", "m"], ["5", "7"]]})
    with zipfile.ZipFile(made / "d.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(made / "a.pdf", "inner/a.pdf")
        archive.write(made / "b.docx", "b.docx")
    return [*seed_files(SAMPLES, largest_kb=5), *sorted(made.iterdir())]


def test_every_mutant_is_indexed_or_has_a_reason(
    make_candor: Callable[..., Candor], seeds: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "mutants"
    folder.mkdir()
    candor = make_candor(ingest=IngestSettings(parse_timeout_s=120))
    records = ingest(candor, folder, seeds, MUTANTS, seed=3)
    assert len(records) == MUTANTS
    assert [record for record in records if not has_ended(record)] == []
    assert any(record.state == "indexed" for record in records)
    assert any(record.state == "failed" for record in records)


def test_the_parser_handles_damage(tmp_path: Path) -> None:
    """Each mutant is read or rejected with a reason. None reveals a defect or kills a worker."""
    rejected: list[FileError] = []
    with IsolatedParser("default", workers=2, timeout_s=LIMIT_S, memory_mb=2048) as parser:
        for name, content in mutants(seed_files(SAMPLES, largest_kb=100), number=160, seed=4):
            (tmp_path / name).write_bytes(content)
            try:
                assert parser.parse(tmp_path / name).text
            except FileError as error:
                rejected.append(error)
    assert rejected
    assert [error for error in rejected if type(error).__name__.startswith("Parser")] == []


def test_the_same_seed_gives_the_same_mutants(seeds: list[Path]) -> None:
    assert [*mutants(seeds, 20, seed=1)] == [*mutants(seeds, 20, seed=1)]
    assert [*mutants(seeds, 20, seed=1)] != [*mutants(seeds, 20, seed=2)]
