"""Damaged copies of real files: the ingest survives all, and says what became of each. More: benchmarks/fuzz.py."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from api.bootstrap import Candor
from benchmarks.fuzz import SAMPLES, has_ended, ingest, mutants, seed_files
from ingest.errors import FileError
from ingest.isolation.isolated_parser import IsolatedParser
from ingest.settings import IngestSettings
from support.files import write_docx, write_pdf, write_xlsx

MUTANTS = 36


@pytest.fixture
def seeds(tmp_path: Path) -> list[Path]:
    """Small files of the sample documents, and some made here, of more formats."""
    made = tmp_path / "made"
    made.mkdir()
    write_pdf(made / "a.pdf", parts=[("h1", "Pumps"), "They pump.", ("table", [("kW", "m"), ("5", "7")])])
    write_docx(made / "b.docx", [("h1", "Pumps"), "They pump.", ("table", [("kW", "m"), ("5", "7")])])
    write_xlsx(made / "c.xlsx", {"Pumps": [["kW", "m"], ["5", "7"]]})
    with zipfile.ZipFile(made / "d.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(made / "a.pdf", "inner/a.pdf")
        archive.write(made / "b.docx", "b.docx")
    return [*seed_files(SAMPLES, largest_kb=5), *sorted(made.iterdir())]


def test_every_mutant_ends_indexed_or_with_a_reason(
    make_candor: Callable[..., Candor], seeds: list[Path], tmp_path: Path
) -> None:
    folder = tmp_path / "mutants"
    folder.mkdir()
    candor = make_candor(ingest=IngestSettings(parse_timeout_s=30))
    records = ingest(candor, folder, seeds, MUTANTS, seed=3)
    assert len(records) == MUTANTS
    assert [record for record in records if not has_ended(record)] == []
    assert any(record.state == "indexed" for record in records)
    assert any(record.state == "failed" for record in records)


def test_the_parser_foresees_damage(tmp_path: Path) -> None:
    """Each of these, the same every time, is read or refused as what it is: none is a defect or kills a worker."""
    refused: list[FileError] = []
    with IsolatedParser("default", workers=2, timeout_s=30, memory_mb=2048) as parser:
        for name, content in mutants(seed_files(SAMPLES, largest_kb=100), count=160, seed=4):
            (tmp_path / name).write_bytes(content)
            try:
                assert parser.parse(tmp_path / name).text
            except FileError as error:
                refused.append(error)
    assert refused
    assert [error for error in refused if type(error).__name__.startswith("Parser")] == []


def test_mutants_are_the_same_each_time(seeds: list[Path]) -> None:
    assert [*mutants(seeds, 20, seed=1)] == [*mutants(seeds, 20, seed=1)]
    assert [*mutants(seeds, 20, seed=1)] != [*mutants(seeds, 20, seed=2)]
