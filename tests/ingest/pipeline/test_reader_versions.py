"""A new version of a reader makes an ingest read that reader's files again, and no others."""

from __future__ import annotations

import os
import zipfile
from dataclasses import replace

import pytest

from ingest import reader
from ingest.readers import rtf, separated_values
from ingest.readers.markup import markdown
from support.workplace import PUMPS, CountingParser, Workplace, write_zip


@pytest.fixture
def documents(workplace: Workplace) -> Workplace:
    workplace.write("pumps.md", PUMPS)
    workplace.write("prices.csv", "Pump,Price\nBorea 12,9900\n")
    workplace.write("damaged.csv", bytes(range(256)) * 4)
    workplace.write("notes.adoc", "")
    ingest(workplace)
    return workplace


def ingest(workplace: Workplace) -> None:
    """Ingest files that are old enough to be judged unchanged by their time."""
    for path in workplace.documents.iterdir():
        os.utime(path, (1, 1))
    workplace.ingest()


def set_version(monkeypatch: pytest.MonkeyPatch, module: object, version: int) -> None:
    changed = replace(module.READER, version=version)  # type: ignore[attr-defined]
    monkeypatch.setattr(module, "READER", changed)


def parsed_again(workplace: Workplace, **options: bool) -> list[str]:
    parser = CountingParser()
    workplace.ingest(parser=parser, **options)
    return sorted(path.name for path in parser.parsed)


def store_parser(workplace: Workplace, parser: str) -> None:
    for record in workplace.ledger.list("papers"):
        workplace.ledger.record(record.model_copy(update={"parser": parser}))


def test_every_document_names_its_reader(documents: Workplace) -> None:
    stored = {record.name: record.parser.split("/")[0] for record in documents.ledger.list("papers")}
    assert stored == {
        "pumps.md": "markdown", "prices.csv": "separated_values", "damaged.csv": "separated_values",
        "notes.adoc": "asciidoc",
    }  # fmt: skip


def test_a_new_version_reads_only_its_own_files_again(documents: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    before = markdown.READER.fingerprint
    set_version(monkeypatch, markdown, 99)
    plans = []
    documents.ingest(on_plan=plans.append)
    assert plans[0].notices == (f"The parser is now 'markdown/99', not '{before}': 1 files are read again.",)
    assert documents.ledger.find("papers", "pumps.md").parser == "markdown/99"
    assert parsed_again(documents) == []


def test_a_new_version_parses_one_file_of_an_archive(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write_zip(workplace.documents / "all.zip", pumps=PUMPS)
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("prices.csv", "Pump,Price\nBorea 12,9900\n")
        archive.writestr("../outside.csv", "Refused,1\n")
    ingest(workplace)
    assert parsed_again(workplace) == []
    set_version(monkeypatch, separated_values, 99)
    assert parsed_again(workplace) == ["prices.csv"]
    assert parsed_again(workplace) == []


def test_a_failed_file_is_tried_again_with_a_new_version(documents: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    assert parsed_again(documents) == []
    set_version(monkeypatch, separated_values, 99)
    assert parsed_again(documents) == ["damaged.csv", "prices.csv"]


@pytest.mark.parametrize("stored", ["kreuzberg 4.10.4/3", "unstructured 0.18.1/2", "kreuzberg 4.10.4/4", ""])
def test_documents_of_other_parsers_are_read_again(documents: Workplace, stored: str) -> None:
    store_parser(documents, stored)
    assert {"prices.csv", "pumps.md"} <= set(parsed_again(documents))


def test_a_library_upgrade_reads_only_its_own_files_again(
    documents: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents.write("letter.rtf", r"{\rtf1\ansi The pump has arrived.}")
    ingest(documents)
    parser = documents.ledger.find("papers", "letter.rtf").parser
    assert parser.startswith(f"rtf/{rtf.READER.version} pypandoc_binary 1.")
    monkeypatch.setattr(reader, "_installed_version", lambda _: "99")
    assert parsed_again(documents) == ["letter.rtf"]
