"""Ingests of many small files: the database and the model work on many files at a time."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine, event

from ingest.document import Block, BlockKind, ParsedDocument
from ingest.ledger.records import document_id
from ingest.pipeline.discovery import FoundFile
from ingest.pipeline.file import IngestFile
from ingest.pipeline.read_ahead import ReadAhead
from support.waiting import until
from support.workplace import CountingEmbedder, CountingParser, Workplace, write_zip
from vectorstore.models import ChunkFilter
from vectorstore.store import Collection

MANY = 100


@pytest.fixture
def notes(workplace: Workplace) -> list[Path]:
    """Files whose texts get longer by one word each, from the last to the first."""
    return [
        workplace.write(f"{number:03d}.txt", f"Pump {number} is {'very ' * (MANY - number)}quiet.\n")
        for number in range(MANY)
    ]


@contextmanager
def counted_transactions(engine: Engine) -> Iterator[list[str]]:
    """Count the transactions that change the database."""
    commits: list[str] = []

    def count(_: object) -> None:
        commits.append("commit")

    event.listen(engine, "commit", count)
    try:
        yield commits
    finally:
        event.remove(engine, "commit", count)


def test_small_files_share_transactions(workplace: Workplace, notes: list[Path]) -> None:
    with counted_transactions(workplace.ledger._engine) as commits:
        assert workplace.ingest().indexed == MANY
    assert len(commits) < MANY / 4, "each file had six transactions of its own"
    with counted_transactions(workplace.ledger._engine) as commits:
        assert workplace.ingest().unchanged == MANY
    assert len(commits) < MANY / 4, "they were just written, so they are read again"


def test_members_of_an_archive_share_transactions(workplace: Workplace) -> None:
    members = {f"note{number}": f"Pump {number} is quiet." for number in range(MANY)}
    archive = write_zip(workplace.documents / "notes.zip", **members)
    workplace.ledger.tag("papers", [document_id(str(archive))], add=["pumps"])
    with counted_transactions(workplace.ledger._engine) as commits:
        assert workplace.ingest().indexed == MANY + 1
    assert len(commits) < MANY / 4
    assert {record.tags for record in workplace.ledger.list("papers")} == {("pumps",)}


def test_texts_of_many_files_are_embedded_by_length(
    workplace: Workplace, counting: CountingEmbedder, notes: list[Path]
) -> None:
    workplace.ingest()
    lengths = [len(text) for text in counting.embedded]
    assert (len(lengths), lengths) == (MANY, sorted(lengths))


def test_removed_and_changed_files_are_deleted_from_the_store_together(
    workplace: Workplace, notes: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.ingest()
    deletes: list[ChunkFilter] = []
    with workplace.collection() as collection:
        kind = type(collection)
    delete = kind.delete

    def record(self: Collection, where: ChunkFilter) -> None:
        deletes.append(where)
        delete(self, where)

    monkeypatch.setattr(kind, "delete", record)
    for path in notes[:50]:
        path.unlink()
    for path in notes[50:]:
        path.write_text(path.read_text() + "It also cools.\n")
    report = workplace.ingest(sync=True)
    assert (report.indexed, len(report.removed)) == (50, 50)
    assert len(deletes) < 10
    assert len(workplace.chunks()) == 50
    assert workplace.ledger.hidden("papers") == {}


def test_a_bad_file_among_many_fails_alone(workplace: Workplace, notes: list[Path]) -> None:
    def fail(path: Path) -> ParsedDocument:
        raise IndexError("out of range")

    parser = CountingParser(lambda path: fail(path) if path == notes[50] else None)
    report = workplace.ingest(parser=parser)
    assert [failed.name for failed in report.failed] == ["050.txt"]
    assert report.indexed == MANY - 1


def in_progress(path: Path) -> IngestFile:
    return IngestFile(FoundFile(path=path, document=str(path), name=path.name), parser="", chunking="")


def test_few_large_and_many_small_files_are_read_ahead(tmp_path: Path) -> None:
    large, small = tmp_path / "large", tmp_path / "small"
    large.write_bytes(bytes(2**21))
    small.write_bytes(b"small")
    for path, expected in ((large, 4), (small, 256)):
        with ReadAhead(lambda _: None, threads=2) as ahead:
            added = []
            while ahead.has_room:
                added.append(in_progress(path))
                ahead.add(added[-1])
            assert (len(added), ahead.is_low) == (expected, False)
            ahead.start(added)
            done = ahead.wait()
            while ahead:
                done += ahead.wait()
            assert sorted(map(id, done)) == sorted(map(id, added))


@pytest.mark.parametrize(("length", "blocks"), [(2**25, 1), (1, 50_000)])
def test_small_files_with_long_texts_are_not_read_ahead(tmp_path: Path, length: int, blocks: int) -> None:
    """256 files of some kB took gigabytes, because they unpacked to long texts or to many paragraphs."""
    block = Block(kind=BlockKind.PROSE, start=0, end=1)
    parsed = ParsedDocument(text="x" * length, blocks=(block,) * blocks, parser="x/1")
    read, taken, ahead_of = [], 0, []

    def parse(document: IngestFile) -> None:
        document.parsed = parsed
        read.append(document)
        ahead_of.append(len(read) - taken)

    documents = [in_progress(tmp_path / str(number)) for number in range(20)]
    with ReadAhead(parse, threads=2) as ahead:
        for document in documents:
            ahead.add(document)
        ahead.start(documents)
        while ahead:
            time.sleep(0.02)  # as long as others would be read
            taken += len(ahead.wait())
    assert len(read) == 20
    assert max(ahead_of) <= 5
    with ReadAhead(parse, threads=2) as ahead:
        for document in documents:
            ahead.add(document)
        ahead.start(documents)
        until(lambda: len(read) > 21)  # an ingest that fails takes no more of them, and must still end


def test_an_error_of_a_read_stops_the_wait(tmp_path: Path) -> None:
    def fail(_: IngestFile) -> None:
        raise RuntimeError("no disk")

    with ReadAhead(fail, threads=1) as ahead:
        document = in_progress(tmp_path / "gone")
        ahead.add(document)
        ahead.start([document])
        with pytest.raises(RuntimeError, match="no disk"):
            ahead.wait()
