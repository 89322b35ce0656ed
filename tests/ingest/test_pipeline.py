"""Whole ingests: real files through the real parser, model and store."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import create_engine

from ingest.chunking import Chunker
from ingest.errors import NothingToIngest, PathNotFound
from ingest.ledger import DocumentState, Ledger, Stage, document_id
from ingest.parser import load_parser
from ingest.pipeline import IngestPipeline, IngestReport, Progress
from ingest.settings import IngestSettings
from support.files import write_docx, write_encrypted_pdf, write_pdf
from vectorstore.edge import EdgeStore
from vectorstore.embedding import Embedder
from vectorstore.errors import StoreUnavailable
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec
from vectorstore.retrieval import Retriever
from vectorstore.store import Collection

PUMPS = "# Heat pumps\n\nA heat pump works below zero. It moves heat from the cold air into the house.\n"
BREAD = "# Bread\n\nKnead the dough for ten minutes. Bake it at two hundred degrees.\n"


class Workplace:
    """A collection and a ledger in a folder, and a folder of documents to ingest."""

    def __init__(self, home: Path, embedder: Embedder) -> None:
        self.documents = home / "documents"
        self.documents.mkdir()
        self.ledger = Ledger(create_engine(f"sqlite:///{home / 'candor.sqlite'}"))
        self.store = EdgeStore(home / "store", reserve=0)
        self.embedder = embedder
        self.chunker = Chunker(embedder.count_tokens, embedder.max_tokens)

    @contextmanager
    def collection(self) -> Iterator[Collection]:
        """The open collection."""
        spec = CollectionSpec(
            name="papers",
            embedding_model=self.embedder.model,
            dimension=self.embedder.dimension,
            chunking=self.chunker.fingerprint,
        )
        with self.store.create(spec) as collection:
            yield collection

    def ingest(
        self, *paths: Path, progress: Callable[[Progress], None] = lambda _: None, **settings: int
    ) -> IngestReport:
        """Ingest the paths, by default the folder of documents."""
        with self.collection() as collection:
            pipeline = IngestPipeline(
                parser=load_parser("kreuzberg"),
                chunker=self.chunker,
                embedder=self.embedder,
                collection=collection,
                ledger=self.ledger,
                settings=IngestSettings(**settings),
            )
            return pipeline.ingest(paths or [self.documents], progress)

    def write(self, name: str, content: str | bytes) -> Path:
        """A file in the folder of documents."""
        path = self.documents / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def chunks(self, *documents: Path) -> list[Chunk]:
        """What the collection holds, of these documents if any are given."""
        ids = tuple(document_id(path.as_posix()) for path in documents)
        with self.collection() as collection:
            return list(collection.scan(ChunkFilter(documents=ids)))


@pytest.fixture
def workplace(tmp_path: Path, embedder: Embedder) -> Workplace:
    return Workplace(tmp_path, embedder)


def test_a_folder_becomes_searchable_with_exact_spans(workplace: Workplace) -> None:
    workplace.write("energy/pumps.md", PUMPS)
    write_docx(workplace.documents / "bread.docx", [("h1", "Bread"), "Knead the dough for ten minutes."])
    report = workplace.ingest()
    assert (report.files, report.indexed, report.chunks, report.failed) == (2, 2, 2, ())

    with workplace.collection() as collection:
        hit = Retriever(collection, workplace.embedder).search(["heating in winter"], limit=1)[0]
    assert hit.chunk.name == "energy/pumps.md"
    assert hit.chunk.document == (workplace.documents / "energy/pumps.md").as_posix()
    kept = workplace.ledger.text("papers", hit.chunk.document_id)
    assert kept.text[hit.chunk.start : hit.chunk.end] == hit.chunk.text


def test_the_ledger_says_what_became_of_a_file(workplace: Workplace) -> None:
    path = write_pdf(
        workplace.documents / "a.pdf", title="Pumps", parts=["Heat pumps work below zero.", ("page",), "End."]
    )
    workplace.ingest()
    record = workplace.ledger.find("papers", "a.pdf")
    assert record.state is DocumentState.INDEXED
    assert (record.title, record.pages, record.chunks, record.size) == ("Pumps", 2, 1, path.stat().st_size)
    assert record.mime_type == "application/pdf"
    assert record.tokens > 5
    assert record.parser.startswith("kreuzberg 4.")
    assert {"reading", "parsing", "chunking"} <= set(record.seconds)


def test_an_unchanged_file_is_not_embedded_again(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.ingest()
    os.utime(path, (1, 1))
    report = workplace.ingest()
    assert (report.indexed, report.unchanged, report.chunks) == (0, 1, 0)
    assert "embedding" not in report.stage_seconds


def test_a_changed_file_replaces_its_old_chunks(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS + "\n\n".join(f"## Part {n}\n\n{PUMPS * 4}" for n in range(5)))
    workplace.write("bread.md", BREAD)
    workplace.ingest()
    assert len(workplace.chunks(path)) > 1
    path.write_text("# Heat pumps\n\nRewritten.\n")
    report = workplace.ingest()
    assert (report.indexed, report.unchanged) == (1, 1)
    assert [chunk.text for chunk in workplace.chunks(path)] == ["Heat pumps\n\nRewritten."]
    assert len(workplace.chunks()) == 2


def test_another_parser_version_reads_unchanged_files_again(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.ingest()
    known = workplace.ledger.find("papers", "pumps.md")
    workplace.ledger.record(known.model_copy(update={"parser": "kreuzberg 3.0"}))
    assert workplace.ingest().indexed == 1
    assert len(workplace.chunks(path)) == 1


def test_the_same_file_twice_is_ingested_once(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    assert workplace.ingest(workplace.documents, path, workplace.documents).files == 1


def test_identical_texts_each_keep_their_place(workplace: Workplace) -> None:
    workplace.write("a/pumps.md", PUMPS)
    workplace.write("b/pumps.md", PUMPS)
    workplace.ingest()
    assert [chunk.name for chunk in workplace.chunks()] == ["a/pumps.md", "b/pumps.md"]


def test_progress_tells_files_stages_and_counts(workplace: Workplace) -> None:
    workplace.write("pumps.md", PUMPS)
    workplace.write("empty.md", "")
    seen: list[Progress] = []
    workplace.ingest(progress=seen.append)
    assert {progress.stage for progress in seen} == set(Stage)
    assert (seen[-1].files_done, seen[-1].files_total, seen[-1].failed, seen[-1].chunks) == (2, 2, 1, 1)


# What goes wrong


def test_one_bad_file_never_stops_the_rest(workplace: Workplace) -> None:
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
        "d-broken.docx": ("parsing", "cannot be read"),
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
def test_a_file_without_rights_is_named(workplace: Workplace) -> None:
    workplace.write("private.md", PUMPS).chmod(0)
    assert "Permission denied" in workplace.ingest().failed[0].reason


def test_a_file_that_fails_after_a_change_keeps_what_was_indexed(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.ingest()
    path.write_bytes(b"\x00\x01" * 50)
    assert len(workplace.ingest().failed) == 1
    assert len(workplace.chunks(path)) == 1
    assert workplace.ledger.find("papers", "pumps.md").state is DocumentState.FAILED
    path.write_text("# Heat pumps\n\nMended.\n")
    assert workplace.ingest().indexed == 1
    assert [chunk.text for chunk in workplace.chunks(path)] == ["Heat pumps\n\nMended."]


def test_hidden_files_and_link_loops_are_left_out_with_a_reason(workplace: Workplace) -> None:
    workplace.write(".secret/key.txt", "hidden")
    workplace.write("sub/pumps.md", PUMPS)
    (workplace.documents / "sub" / "loop").symlink_to(workplace.documents)
    report = workplace.ingest()
    assert report.files == 1
    assert {Path(left.path).name: left.reason for left in report.left_out} == {
        ".secret": "hidden",
        "loop": "a link back to a folder that contains it",
    }


def test_a_path_that_does_not_exist_is_named_before_anything_is_done(workplace: Workplace) -> None:
    workplace.write("pumps.md", PUMPS)
    with pytest.raises(PathNotFound, match="nowhere"):
        workplace.ingest(workplace.documents, workplace.documents / "nowhere")
    assert workplace.chunks() == []


def test_an_empty_folder_is_an_error(workplace: Workplace) -> None:
    with pytest.raises(NothingToIngest, match="documents"):
        workplace.ingest()


def test_a_file_named_alone_is_called_by_its_file_name(workplace: Workplace) -> None:
    path = workplace.write("energy/pumps.md", PUMPS)
    workplace.ingest(path)
    assert [chunk.name for chunk in workplace.chunks()] == ["pumps.md"]


def test_file_names_that_are_no_unicode_are_ingested_or_fail_like_others(workplace: Workplace) -> None:
    folder = os.fsencode(workplace.documents)
    Path(os.fsdecode(folder + b"/caf\xe9.md")).write_text(PUMPS)
    write_pdf(Path(os.fsdecode(folder + b"/t\xe9a.pdf")), parts=["Tea."])
    Path(os.fsdecode(folder + b"/vid\xe9.md")).touch()
    report = workplace.ingest()
    assert [chunk.name for chunk in workplace.chunks()] == ["caf\\xe9.md", "t\\xe9a.pdf"]
    assert "vid\\xe9.md is empty" in report.failed[0].reason


def test_a_full_disk_stops_the_ingest_and_keeps_what_was_stored(workplace: Workplace, tmp_path: Path) -> None:
    workplace.write("bread.md", BREAD)
    workplace.ingest()
    workplace.write("pumps.md", PUMPS)
    workplace.store = EdgeStore(tmp_path / "store", reserve=1 << 60)
    with pytest.raises(StoreUnavailable, match="free"):
        workplace.ingest()
    workplace.store = EdgeStore(tmp_path / "store", reserve=0)
    report = workplace.ingest()
    assert (report.indexed, report.unchanged) == (1, 1)
