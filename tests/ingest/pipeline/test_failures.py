"""Failures during an ingest: which of them stop it, and how they are reported."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from ingest.chunking.chunker import Chunker
from ingest.document import ParsedDocument
from ingest.errors import LedgerUnavailable, NothingToIngest, ParserUnavailable, PathNotFound
from ingest.ledger.records import DocumentState, Stage
from ingest.pipeline.file import OpenContainer
from support.files import write_encrypted_pdf, write_pdf
from support.workplace import BREAD, PUMPS, CountingEmbedder, CountingParser, Workplace, write_zip
from vectorstore.edge.store import EdgeStore
from vectorstore.errors import StoreUnavailable
from vectorstore.models import Chunk


def test_a_bad_file_does_not_stop_the_others(workplace: Workplace) -> None:
    workplace.write("a-empty.txt", "")
    workplace.write("b-blank.md", " \n\n ")
    workplace.write("c-binary.dat", bytes(range(256)) * 4)
    workplace.write("d-broken.docx", b"PK\x03\x04 this is no archive")
    workplace.write("e-large.txt", "x" * (2 << 20))
    write_encrypted_pdf(workplace.documents / "f-secret.pdf")
    (workplace.documents / "g-dangling.md").symlink_to("nowhere.md")
    workplace.write("z-good.md", PUMPS)
    report = workplace.ingest(max_file_mb=1)

    assert report.indexed == 1
    reasons = {record.name: (record.stage.value, record.reason) for record in report.failed}
    expected = {
        "a-empty.txt": ("parsing", "is empty"),
        "b-blank.md": ("parsing", "is empty"),
        "c-binary.dat": ("parsing", "binary"),
        "d-broken.docx": ("parsing", "is damaged"),
        "e-large.txt": ("reading", "max_file_mb"),
        "f-secret.pdf": ("parsing", "password"),
        "g-dangling.md": ("reading", "No such file"),
    }
    assert reasons.keys() == expected.keys()
    for name, (stage, words) in expected.items():
        assert reasons[name][0] == stage
        assert words in reasons[name][1]
        assert (workplace.documents / name).as_posix() in reasons[name][1]
    failed = workplace.ledger.list("papers", DocumentState.FAILED)
    assert [record.name for record in failed] == sorted(expected)


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is unreadable to root")
def test_a_file_without_permission_fails(workplace: Workplace) -> None:
    workplace.write("private.md", PUMPS).chmod(0)
    assert "Permission denied" in workplace.ingest().failed[0].reason


def test_a_changed_file_that_fails_stays_searchable(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.ingest()
    path.write_bytes(b"\x00\x01" * 50)
    assert len(workplace.ingest().failed) == 1
    assert len(workplace.chunks(path)) == 1
    assert workplace.ledger.find("papers", "pumps.md").state is DocumentState.FAILED
    path.write_text("# Heat pumps\n\nMended.\n")
    assert workplace.ingest().indexed == 1
    assert [chunk.text for chunk in workplace.chunks(path)] == ["Heat pumps\n\nMended."]


def test_hidden_files_and_link_loops_are_skipped_with_a_reason(workplace: Workplace) -> None:
    workplace.write(".secret/key.txt", "hidden")
    workplace.write("sub/pumps.md", PUMPS)
    workplace.write("sub/~$plan.docx", "lock")
    workplace.write("sub/Thumbs.db", "pictures")
    (workplace.documents / "sub" / "loop").symlink_to(workplace.documents)
    report = workplace.ingest()
    assert report.files == 1
    assert {Path(left.path).name: left.reason for left in report.left_out} == {
        ".secret": "hidden",
        "~$plan.docx": "no document: written by a program about open files or folders",
        "Thumbs.db": "no document: written by a program about open files or folders",
        "loop": "a link back to a folder that contains it",
    }


def test_a_missing_path_is_an_error_before_any_file_is_ingested(workplace: Workplace) -> None:
    workplace.write("pumps.md", PUMPS)
    with pytest.raises(PathNotFound, match="nowhere"):
        workplace.ingest(workplace.documents, workplace.documents / "nowhere")
    assert workplace.chunks() == []


def test_an_empty_folder_is_an_error(workplace: Workplace) -> None:
    with pytest.raises(NothingToIngest, match="documents"):
        workplace.ingest()


def test_a_single_file_has_its_file_name_as_name(workplace: Workplace) -> None:
    path = workplace.write("energy/pumps.md", PUMPS)
    workplace.ingest(path)
    assert [chunk.name for chunk in workplace.chunks()] == ["pumps.md"]


def test_file_names_that_are_not_utf8_are_escaped(workplace: Workplace) -> None:
    folder = os.fsencode(workplace.documents)
    Path(os.fsdecode(folder + b"/caf\xe9.md")).write_text(PUMPS)
    write_pdf(Path(os.fsdecode(folder + b"/t\xe9a.pdf")), parts=["Tea."])
    Path(os.fsdecode(folder + b"/vid\xe9.md")).touch()
    report = workplace.ingest()
    assert [chunk.name for chunk in workplace.chunks()] == ["caf\\xe9.md", "t\\xe9a.pdf"]
    assert "vid\\xe9.md is empty" in report.failed[0].reason


def test_a_full_disk_stops_the_ingest_and_keeps_stored_files(workplace: Workplace, tmp_path: Path) -> None:
    workplace.write("bread.md", BREAD)
    workplace.ingest()
    workplace.write("pumps.md", PUMPS)
    workplace.store = EdgeStore(tmp_path / "store", reserve=1 << 60)
    with pytest.raises(StoreUnavailable, match="free"):
        workplace.ingest()
    workplace.store = EdgeStore(tmp_path / "store", reserve=0)
    report = workplace.ingest()
    assert (report.indexed, report.unchanged) == (1, 1)


def test_an_internal_error_fails_only_its_file(workplace: Workplace, caplog: pytest.LogCaptureFixture) -> None:
    workplace.write("bad.md", BREAD)
    workplace.write("good.md", PUMPS)

    def raise_error(path: Path) -> None:
        if path.name == "bad.md":
            raise ZeroDivisionError("division by zero")

    report = workplace.ingest(parser=CountingParser(raise_error))
    assert workplace.states() == {"bad.md": "failed", "good.md": "indexed"}
    failed = report.failed[0]
    assert failed.stage is Stage.PARSING
    for words in ("internal error", "while parsing", "ZeroDivisionError: division by zero", "report it"):
        assert words in failed.reason
    assert "in raise_error" in caplog.text, "the traceback is in the log"
    assert workplace.ingest(retry_failed=True).indexed == 1


def test_an_internal_error_in_chunking_fails_only_its_file(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    workplace.write("bad.md", BREAD)
    workplace.write("good.md", PUMPS)
    chunk = Chunker.chunk

    def raise_error(self: Chunker, parsed: ParsedDocument, source: Any) -> list[Chunk]:
        if source.name == "bad.md":
            raise IndexError("out of range")
        return chunk(self, parsed, source)

    monkeypatch.setattr(Chunker, "chunk", raise_error)
    failed = workplace.ingest().failed[0]
    assert (failed.name, failed.stage) == ("bad.md", Stage.CHUNKING)
    assert workplace.states()["good.md"] == "indexed"


def test_an_internal_error_in_unpacking_keeps_earlier_members(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_zip(workplace.documents / "a.zip", bread=BREAD, pumps=PUMPS)
    workplace.write("good.md", PUMPS)
    next_member = OpenContainer.next

    def raise_error(self: OpenContainer) -> Any:
        if self.seen:
            raise RecursionError("too deep")
        return next_member(self)

    monkeypatch.setattr(OpenContainer, "next", raise_error)
    failed = workplace.ingest().failed[0]
    assert "RecursionError: too deep" in failed.reason
    assert workplace.states() == {"a.zip": "failed", "a.zip/bread.md": "indexed", "good.md": "indexed"}


@pytest.mark.parametrize(
    "error", [ParserUnavailable("no process"), StoreUnavailable("no store"), LedgerUnavailable("no database")]
)
def test_an_error_of_parser_store_or_ledger_stops_the_ingest(workplace: Workplace, error: Exception) -> None:
    workplace.write("pumps.md", PUMPS)

    def stop(_: Path) -> None:
        raise error

    with pytest.raises(type(error)):
        workplace.ingest(parser=CountingParser(stop))
    assert workplace.states() == {"pumps.md": "parsing"}, "the next ingest reads it again"


def test_an_error_of_the_embedding_model_stops_the_ingest(workplace: Workplace, counting: CountingEmbedder) -> None:
    workplace.write("pumps.md", PUMPS)
    counting.embed_passages = lambda _: 1 / 0
    with pytest.raises(ZeroDivisionError):
        workplace.ingest()
    assert workplace.states() == {"pumps.md": "embedding"}


def test_ctrl_c_in_a_wait_for_a_lock_ends_the_ingest(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        try:
            raise KeyboardInterrupt
        finally:
            raise RuntimeError("release unlocked lock")  # as `with condition` does where Ctrl-C ends its wait

    workplace.write("a.md", PUMPS)
    with monkeypatch.context() as patched:
        patched.setattr(type(workplace.embedder), "embed_passages", interrupt)
        with pytest.raises(KeyboardInterrupt):
            workplace.ingest()
    assert workplace.states() == {"a.md": "discovered"}
    assert workplace.ingest().indexed == 1


def test_a_defect_is_no_ctrl_c(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    def break_down(*_: object) -> None:
        raise RuntimeError("a defect")

    workplace.write("a.md", PUMPS)
    monkeypatch.setattr(type(workplace.embedder), "embed_passages", break_down)
    with pytest.raises(RuntimeError, match="a defect"):
        workplace.ingest()
