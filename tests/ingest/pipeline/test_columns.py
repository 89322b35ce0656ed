"""``metadata.csv``: rows describe documents of their folder, and those that describe nothing are named."""

from __future__ import annotations

import csv
from pathlib import Path
from unicodedata import normalize

import pytest

from ingest.pipeline.columns import Columns, read_columns
from ingest.pipeline.discovery import FoundFile, discover


def columns(folder: Path, *known: str) -> Columns:
    files = [each for each in discover([folder]) if isinstance(each, FoundFile)]
    found = read_columns(files, [str(folder / each) for each in known], None)
    return found._replace(
        fields={str(Path(path).relative_to(folder)): fields for path, fields in found.fields.items()},
        files=frozenset(str(Path(path).relative_to(folder)) for path in found.files),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "sub/b.txt"):
        (tmp_path / name).write_text("text")
    return tmp_path


def test_rows_describe_documents_by_name_or_path(folder: Path) -> None:
    (folder / "metadata.csv").write_text(
        "file;Project;cost;tags\na.txt;Orion;1,5;x, y\nsub/b.txt;Vega;7;\nold.txt;Lyra;;\nc.txt;;;\n\n"
    )
    (folder / "sub/metadata.csv").write_text("file,cost\nb.txt,8\n")
    found = columns(folder, "old.txt")
    assert found.fields == {
        "a.txt": {"project": "Orion", "cost": "1,5", "tags": ("x", "y")},
        "sub/b.txt": {"project": "Vega", "cost": 8},
        "old.txt": {"project": "Lyra"},
    }, "a known document counts, and a file in an inner folder takes precedence"
    assert found.files == {"metadata.csv", "sub/metadata.csv"}
    assert found.notices == (
        "metadata.csv: It describes 3 documents.", "metadata.csv: There is no file for 1 row: c.txt.",
        "sub/metadata.csv: It describes 1 document.",
    )  # fmt: skip


def test_a_member_of_an_archive_has_the_fields_of_the_archive(folder: Path) -> None:
    (folder / "a.zip").write_bytes(b"PK")
    (folder / "metadata.csv").write_text("file,client,year\na.zip,Acme,2024\na.zip/b.txt,,2025\n")
    files = [each for each in discover([folder]) if isinstance(each, FoundFile)]
    found = read_columns(files, [f"{folder}/a.zip/b.txt"], None)
    assert found.about(f"{folder}/a.zip/b.txt") == {"client": "Acme", "year": 2025}
    assert found.about(f"{folder}/a.zip/sub/c.txt") == {"client": "Acme", "year": 2024}
    assert found.about(f"{folder}/a.txt") == {}


def test_a_file_that_describes_none_is_data(folder: Path) -> None:
    (folder / "metadata.csv").write_text("id,label\n1,cat\n2,dog\n")
    found = columns(folder)
    assert (found.fields, found.files) == ({}, frozenset())
    assert found.notices == (
        "metadata.csv: There is no file for 2 rows: 1, 2.", "metadata.csv: It is read as a document."
    )  # fmt: skip


def test_accents_are_compared_in_both_forms(folder: Path) -> None:
    (folder / normalize("NFD", "résumé.txt")).write_text("text")
    (folder / "metadata.csv").write_text(normalize("NFC", "file,year\nrésumé.txt,2024\n"), encoding="utf-8")
    assert columns(folder).fields == {normalize("NFD", "résumé.txt"): {"year": 2024}}


def test_a_wrong_value_is_named_with_its_row(folder: Path) -> None:
    (folder / "metadata.csv").write_text("file,date\na.txt,soon\n")
    assert any(
        each.startswith("metadata.csv: a.txt: A field is left out. The date 'soon' is none.")
        for each in columns(folder).notices
    )


def test_an_empty_or_binary_file_is_left_to_the_readers(folder: Path) -> None:
    for content in (b"", b"\0\1\2\3" * 100):
        (folder / "metadata.csv").write_bytes(content)
        assert columns(folder) == ({}, (), frozenset())


def test_a_file_above_the_limit_is_left_to_the_readers_and_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ingest.pipeline.columns._MOST_MB", 0)
    (folder / "metadata.csv").write_text("file,note\na.txt,x\n")
    found = columns(folder)
    assert (found.fields, found.files) == ({}, frozenset())
    assert found.notices == ("metadata.csv: Its fields are not used (more than 0 MB). It is read as a document.",)


def test_a_cell_above_the_limit_leaves_the_file_to_the_readers(folder: Path) -> None:
    """The limit is that of the process, in which other CSV files rely on it."""
    csv.field_size_limit(131_072)
    (folder / "metadata.csv").write_text(f"file,note\na.txt,{'x' * 200_000}\n")
    found = columns(folder)
    assert (found.fields, found.files, csv.field_size_limit()) == ({}, frozenset(), 131_072)
    [notice] = found.notices
    assert "field larger than field limit" in notice
