"""Whole ingests: real files through the real parser, model and store."""

from __future__ import annotations

import os
import threading
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import create_engine, event

from ingest.chunking import Chunker
from ingest.editions import LiveCollection, remove_document
from ingest.errors import LedgerUnavailable, NothingToIngest, ParserUnavailable, PathNotFound
from ingest.ledger import Ledger
from ingest.parser import ParsedDocument, Parser, load_parser
from ingest.pipeline import IngestPipeline
from ingest.planning import Plan, Verdict
from ingest.records import DocumentState, Stage, document_id
from ingest.reports import IngestReport, Progress
from ingest.settings import IngestSettings
from ingest.unpacking import Unpacking
from support.files import write_docx, write_encrypted_pdf, write_pdf
from support.opened import opened_files
from vectorstore.edge import EdgeStore
from vectorstore.embedding import Embedder
from vectorstore.errors import StoreUnavailable
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec
from vectorstore.retrieval import Retriever
from vectorstore.store import Collection, Vectors

PUMPS = "# Heat pumps\n\nA heat pump works below zero. It moves heat from the cold air into the house.\n"
BREAD = "# Bread\n\nKnead the dough for ten minutes. Bake it at two hundred degrees.\n"


class Workplace:
    """A collection and a ledger in a folder, and a folder of documents to ingest."""

    def __init__(self, home: Path, embedder: Embedder) -> None:
        self.documents = home / "documents"
        self.documents.mkdir()
        engine = create_engine(f"sqlite:///{home / 'candor.sqlite'}")
        event.listen(engine, "connect", lambda connection, _: connection.execute("PRAGMA synchronous=OFF"))
        self.ledger = Ledger(engine)
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
        self,
        *paths: Path,
        progress: Callable[[Progress], None] = lambda _: None,
        parser: Parser | None = None,
        retry_failed: bool = False,
        sync: bool = False,
        on_plan: Callable[[Plan], None] = lambda _: None,
        **settings: Any,
    ) -> IngestReport:
        """Ingest the paths, by default the folder of documents."""
        with self.collection() as collection:
            pipeline = IngestPipeline(
                parser=parser or load_parser("kreuzberg"),
                chunker=self.chunker,
                embedder=self.embedder,
                collection=collection,
                ledger=self.ledger,
                settings=IngestSettings(**settings),
            )
            return pipeline.ingest(
                paths or [self.documents], progress, retry_failed=retry_failed, sync=sync, on_plan=on_plan
            )

    def searched(self, query: str) -> list[str]:
        """The names of the documents that a search finds."""
        with self.collection() as collection:
            live = LiveCollection(collection, self.ledger)
            return [hit.chunk.name for hit in Retriever(live, self.embedder).search([query], limit=10)]

    def states(self) -> dict[str, str]:
        """The state of every file, by name."""
        return {record.name: record.state.value for record in self.ledger.list("papers")}

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


# Again: what has changed, moved, gone, failed


class CountingEmbedder:
    """Notes what it embeds."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self.embedded: list[str] = []
        self.model, self.dimension, self.max_tokens = embedder.model, embedder.dimension, embedder.max_tokens
        self.languages = embedder.languages

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        self.embedded += texts
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> Vectors:
        return self._embedder.embed_query(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)


@pytest.fixture
def counting(workplace: Workplace) -> CountingEmbedder:
    """The workplace's embedder from now on."""
    workplace.embedder = CountingEmbedder(workplace.embedder)
    return workplace.embedder


def test_a_moved_file_is_not_embedded_again_and_is_found_only_where_it_is(
    workplace: Workplace, counting: CountingEmbedder
) -> None:
    path = workplace.write("untitled.txt", "Nothing in here is a heading.\n")
    workplace.ingest()
    path.rename(workplace.documents / "other name.txt")
    report = workplace.ingest()
    assert (report.indexed, report.embedded, report.removed) == (1, 0, ("untitled.txt",))
    assert len(counting.embedded) == 1
    assert workplace.searched("heading") == ["other name.txt"]
    assert workplace.states() == {"other name.txt": "indexed", "untitled.txt": "removed"}
    assert workplace.ledger.find("papers", "untitled.txt").reason.endswith("other name.txt")


def test_equal_texts_are_embedded_once_whenever_they_come(workplace: Workplace, counting: CountingEmbedder) -> None:
    workplace.write("a.md", PUMPS)
    workplace.write("b.md", PUMPS)
    assert workplace.ingest().embedded == 1
    workplace.write("c.md", PUMPS)
    assert workplace.ingest().embedded == 0
    assert len(counting.embedded) == 1
    assert len(workplace.searched("heat pump")) == 3


def test_of_a_changed_document_only_what_is_new_is_embedded_and_its_id_stays(
    workplace: Workplace, counting: CountingEmbedder
) -> None:
    sections = [f"## Part {n}\n\n" + f"This is about the number {n}. " * 30 for n in range(4)]
    path = workplace.write("parts.md", "\n\n".join(["# Parts", *sections]))
    workplace.ingest()
    identity = workplace.ledger.find("papers", "parts.md").id
    counting.embedded.clear()
    path.write_text("\n\n".join(["# Parts", *sections[:3], sections[3].replace("number", "numeral")]))
    workplace.ingest()
    assert counting.embedded
    assert all("numeral" in text for text in counting.embedded)
    assert workplace.ledger.find("papers", "parts.md").id == identity


def test_a_search_beside_an_ingest_finds_one_edition_of_a_document_never_both_or_neither(workplace: Workplace) -> None:
    def edition(number: int) -> str:
        return "\n\n".join(f"## Part {part}\n\n" + f"Edition {number} of part {part}. " * 30 for part in range(6))

    path = workplace.write("report.md", edition(0))
    workplace.ingest()
    with workplace.collection() as collection:
        live = LiveCollection(collection, workplace.ledger)
        pipeline = IngestPipeline(
            parser=load_parser("kreuzberg"), chunker=workplace.chunker, embedder=workplace.embedder,
            collection=collection, ledger=workplace.ledger, settings=IngestSettings(embed_batch=2),
        )  # fmt: skip
        seen: list[set[str]] = []
        stop = threading.Event()

        def search() -> None:
            while not stop.is_set():
                chunks = list(live.scan())
                seen.append({chunk.version for chunk in chunks} | {str(len(chunks))})

        searching = threading.Thread(target=search)
        searching.start()
        for number in range(1, 5):
            path.write_text(edition(number))
            pipeline.ingest([workplace.documents])
        stop.set()
        searching.join()
        parts = str(len(list(live.scan())))
    assert len(seen) > 10
    assert len(set.union(*seen)) > 3  # it did see several editions
    assert all(len(versions) == 2 and parts in versions for versions in seen)


def test_sync_removes_what_has_gone_from_disk_and_nothing_else(workplace: Workplace, tmp_path: Path) -> None:
    path = workplace.write("sub/pumps.md", PUMPS)
    workplace.write("bread.md", BREAD)
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("# Elsewhere\n\nAnother heat pump.\n")
    workplace.ingest(workplace.documents, elsewhere)
    path.unlink()
    elsewhere.unlink()
    assert workplace.ingest().removed == ()
    assert workplace.ingest(sync=True).removed == ("sub/pumps.md",)
    assert workplace.chunks(path) == []
    assert workplace.states() == {"bread.md": "indexed", "elsewhere.md": "indexed", "sub/pumps.md": "removed"}


def test_sync_does_not_take_an_empty_folder_for_the_wish_to_remove_everything(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.ingest()
    path.unlink()
    with pytest.raises(NothingToIngest):
        workplace.ingest(sync=True)
    assert len(workplace.chunks()) == 1


def test_a_removed_document_is_not_found_and_the_ledger_remembers_it(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.write("bread.md", BREAD)
    workplace.ingest()
    with workplace.collection() as collection:
        remove_document(collection, workplace.ledger, workplace.ledger.find("papers", "pumps.md"), "by hand")
    assert workplace.searched("heat") == ["bread.md"]
    assert workplace.chunks(path) == []
    assert workplace.states() == {"bread.md": "indexed", "pumps.md": "removed"}
    assert workplace.ingest().indexed == 1  # its file is still there


def test_a_known_failure_is_reported_again_and_tried_again_only_when_asked(workplace: Workplace) -> None:
    path = workplace.write("binary.dat", bytes(range(256)) * 4)
    os.utime(path, (1, 1))
    parser = CountingParser()
    assert len(workplace.ingest(parser=parser).failed) == 1
    again = workplace.ingest(parser=parser)
    assert (len(again.failed), again.failed_before, len(parser.parsed)) == (1, 1, 1)
    retried = workplace.ingest(parser=parser, retry_failed=True)
    assert (len(retried.failed), retried.failed_before, len(parser.parsed)) == (1, 0, 2)
    assert workplace.ledger.find("papers", "binary.dat").attempts == 2


def test_other_settings_are_announced_before_they_are_applied(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS * 20)
    workplace.ingest()
    before = {chunk.id for chunk in workplace.chunks(path)}
    with workplace.collection() as collection:
        spec = collection.spec
    workplace.chunker = Chunker(workplace.embedder.count_tokens, 64)
    plans: list[Plan] = []
    with workplace.store.create(spec) as collection:
        IngestPipeline(
            parser=load_parser("kreuzberg"), chunker=workplace.chunker, embedder=workplace.embedder,
            collection=collection, ledger=workplace.ledger, settings=IngestSettings(),
        ).ingest([workplace.documents], on_plan=plans.append)  # fmt: skip
        after = {chunk.id for chunk in collection.scan()}
    assert plans[0].count(Verdict.SETTINGS) == 1
    assert "64" in plans[0].notices[0]
    assert len(after) > len(before)
    assert not after & before


def test_a_plan_tells_what_will_be_done(workplace: Workplace) -> None:
    workplace.write("same.md", PUMPS)
    changed = workplace.write("changed.md", BREAD)
    bad = workplace.write("bad.txt", "")
    for path in workplace.documents.iterdir():
        os.utime(path, (1, 1))
    workplace.ingest()
    changed.write_text(BREAD * 2)
    workplace.write("new.md", BREAD)
    plans: list[Plan] = []
    workplace.ingest(on_plan=plans.append)
    verdicts = {planned.file.name: planned.verdict for planned in plans[0].files}
    assert verdicts == {
        "same.md": Verdict.UNCHANGED, "changed.md": Verdict.CHANGED, bad.name: Verdict.KNOWN_FAILURE,
        "new.md": Verdict.NEW,
    }  # fmt: skip


def test_unchanged_files_are_not_even_opened(workplace: Workplace) -> None:
    for number in range(400):
        os.utime(workplace.write(f"{number}.md", f"# Number {number}\n\nOf many.\n"), (1, 1))
    workplace.ingest()
    with opened_files() as opened:
        report = workplace.ingest()
    assert report.unchanged == 400
    assert "reading" not in report.stage_seconds
    assert not [path for path in opened if path.endswith(".md")]
    os.utime(workplace.documents / "7.md", (2, 2))
    with opened_files() as opened:
        workplace.ingest()
    assert [Path(path).name for path in opened if path.endswith(".md")] == ["7.md"], "else the list tells nothing"


def test_a_change_that_size_and_time_do_not_show_is_seen_if_it_came_right_after_the_reading(
    workplace: Workplace,
) -> None:
    path = workplace.write("pumps.md", "# Pumps\n\nIt is warm.\n")
    workplace.ingest()
    status = path.stat()
    path.write_text("# Pumps\n\nIt is cold.\n")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    workplace.ingest()
    assert "cold" in workplace.chunks(path)[0].text


# Archives, messages and odd files


class CountingParser:
    """Notes what it parses; ``meddle`` is called in between."""

    def __init__(self, meddle: Callable[[Path], None] = lambda _: None) -> None:
        self._parser = load_parser("kreuzberg")
        self._meddle = meddle
        self.name, self.version = self._parser.name, self._parser.version
        self.parsed: list[Path] = []

    def parse(self, path: Path) -> ParsedDocument:
        self.parsed.append(path)
        parsed = self._parser.parse(path)
        self._meddle(path)
        return parsed


def write_zip(path: Path, **members: str) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/") + ".md", content)
    return path


def test_the_files_of_an_archive_are_documents_of_their_own(workplace: Workplace) -> None:
    archive = write_zip(workplace.documents / "a.zip", inner__pumps=PUMPS, bread=BREAD, empty="")
    os.utime(archive, (1, 1))
    report = workplace.ingest()
    assert workplace.states() == {
        "a.zip": "indexed", "a.zip/inner/pumps.md": "indexed", "a.zip/bread.md": "indexed", "a.zip/empty.md": "failed"
    }  # fmt: skip
    assert (report.files, report.indexed, len(report.failed)) == (4, 3, 1)
    assert report.failed[0].reason.startswith(f"{archive.as_posix()}/empty.md is empty")
    assert workplace.searched("heat pump")[0] == "a.zip/inner/pumps.md"

    again = workplace.ingest()
    assert (again.files, again.unchanged, again.failed_before) == (4, 3, 1)
    write_zip(archive, bread=BREAD, empty="# Full\n\nNow.\n")
    changed = workplace.ingest()
    assert (changed.indexed, changed.unchanged, changed.removed) == (2, 1, ("a.zip/inner/pumps.md",))
    assert sorted(workplace.searched("anything")) == ["a.zip/bread.md", "a.zip/empty.md"]
    archive.unlink()
    workplace.write("other.md", PUMPS)
    assert set(workplace.ingest(sync=True).removed) == {"a.zip", "a.zip/bread.md", "a.zip/empty.md"}


def test_a_message_and_what_is_attached_to_it_are_documents(workplace: Workplace) -> None:
    message = EmailMessage()
    message["Subject"] = "About pumps"
    message.set_content("Please read the attached file.")
    message.add_attachment(PUMPS, filename="pumps.md")
    workplace.write("mail.eml", message.as_bytes())
    assert workplace.ingest().failed == ()
    assert workplace.states() == {"mail.eml": "indexed", "mail.eml/pumps.md": "indexed"}
    assert len(workplace.chunks(workplace.documents / "mail.eml")) == 1


def test_a_broken_archive_fails_alone(workplace: Workplace) -> None:
    workplace.write("a.zip", b"PK\x03\x04" + bytes(100))
    workplace.write("bread.md", BREAD)
    report = workplace.ingest()
    assert [record.name for record in report.failed] in (["a.zip"], ["a.zip/(the rest)"])
    assert report.failed[0].reason
    assert "bread.md" in workplace.searched("bread")


def test_a_file_that_changes_while_it_is_read_is_read_again(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    parser = CountingParser(lambda _: path.write_text(BREAD) if len(parser.parsed) == 1 else None)
    assert workplace.ingest(parser=parser).indexed == 1
    assert "Knead" in workplace.chunks(path)[0].text


def test_a_file_that_never_stops_changing_fails(workplace: Workplace) -> None:
    path = workplace.write("log.txt", "line\n")
    parser = CountingParser(lambda _: path.write_text("line\n" * (len(parser.parsed) + 1)))
    failed = workplace.ingest(parser=parser).failed[0]
    assert (failed.stage.value, "changed while it was read" in failed.reason) == ("reading", True)


def test_a_huge_file_is_refused_before_it_is_read(workplace: Workplace) -> None:
    with workplace.write("huge.txt", "").open("wb") as huge:
        huge.truncate(1 << 30)
    with opened_files() as opened:
        failed = workplace.ingest().failed[0]
    assert not [path for path in opened if path.endswith("huge.txt")]
    assert (failed.stage.value, failed.size) == ("reading", 1 << 30)
    assert "1,024 MB; the limit is 200 MB" in failed.reason


def test_links_in_circles_are_left_out_or_fail_with_their_reason(workplace: Workplace) -> None:
    (workplace.documents / "round").symlink_to("round")
    workplace.write("sub/pumps.md", PUMPS)
    (workplace.documents / "sub/up").symlink_to("..")
    report = workplace.ingest()
    assert "Too many levels of symbolic links" in report.failed[0].reason
    assert workplace.states() == {"sub/pumps.md": "indexed", "round": "failed", "sub/up": "skipped"}


def test_a_file_that_even_root_cannot_read_is_named(workplace: Workplace) -> None:
    memory = Path("/proc/self/mem")  # opens, and refuses to be read where nothing is mapped
    if not memory.exists():
        pytest.skip("this system has no file that opens but cannot be read")
    failed = workplace.ingest(memory).failed[0]
    assert (failed.stage.value, "cannot be read" in failed.reason) == ("reading", True)


def test_a_file_name_may_hold_any_character(workplace: Workplace) -> None:
    odd = "".join(chr(code) for code in range(1, 128) if chr(code) not in "/.") + "äß漢\u202e\u0000"[:-1] + ".md"
    workplace.write(odd, PUMPS)
    assert workplace.ingest().indexed == 1
    assert workplace.chunks()[0].name == odd
    assert workplace.ingest().unchanged == 1


def test_every_file_reaches_a_terminal_state(workplace: Workplace) -> None:
    workplace.write("pumps.md", PUMPS)
    workplace.write("empty.md", "")
    workplace.write(".hidden", "x")
    write_zip(workplace.documents / "a.zip", bread=BREAD)
    workplace.ingest()
    assert set(workplace.states().values()) == {"indexed", "failed", "skipped"}


def test_a_document_knows_its_language_unless_it_is_a_table_of_names(workplace: Workplace) -> None:
    workplace.write("mietvertrag.md", "# Mietvertrag\n\nDer Mieter haftet für alle Schäden, die er verursacht.\n")
    workplace.write("runners.csv", "Runner,Race\nIngrid Fjellanger,Vinterholm\nJónas Brekkuson,Tarrowgate\n")
    workplace.write("prices.csv", "产品名称,价格说明\n空气源热泵,含税价格\n电辅助加热器,不含安装费用\n")
    workplace.ingest()
    languages = {
        record.name: record.metadata.get("language")
        for record in (
            workplace.ledger.find("papers", name) for name in ("mietvertrag.md", "runners.csv", "prices.csv")
        )
    }
    assert languages == {"mietvertrag.md": "de", "runners.csv": None, "prices.csv": "zh"}


# Defects of our own


def test_a_defect_that_a_file_brings_to_light_costs_that_file(
    workplace: Workplace, caplog: pytest.LogCaptureFixture
) -> None:
    workplace.write("bad.md", BREAD)
    workplace.write("good.md", PUMPS)

    def stumble(path: Path) -> None:
        if path.name == "bad.md":
            raise ZeroDivisionError("division by zero")

    report = workplace.ingest(parser=CountingParser(stumble))
    assert workplace.states() == {"bad.md": "failed", "good.md": "indexed"}
    failed = report.failed[0]
    assert failed.stage is Stage.PARSING
    for words in ("internal error", "while parsing", "ZeroDivisionError: division by zero", "report it"):
        assert words in failed.reason
    assert "in stumble" in caplog.text, "the traceback is in the log"
    assert workplace.ingest(retry_failed=True).indexed == 1


def test_a_defect_in_chunking_costs_the_file_too(workplace: Workplace, monkeypatch: pytest.MonkeyPatch) -> None:
    workplace.write("bad.md", BREAD)
    workplace.write("good.md", PUMPS)
    chunk = Chunker.chunk

    def stumble(self: Chunker, parsed: ParsedDocument, source: Any) -> list[Chunk]:
        if source.name == "bad.md":
            raise IndexError("out of range")
        return chunk(self, parsed, source)

    monkeypatch.setattr(Chunker, "chunk", stumble)
    failed = workplace.ingest().failed[0]
    assert (failed.name, failed.stage) == ("bad.md", Stage.CHUNKING)
    assert workplace.states()["good.md"] == "indexed"


def test_a_defect_in_unpacking_costs_the_container_and_not_what_came_out_before(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_zip(workplace.documents / "a.zip", bread=BREAD, pumps=PUMPS)
    workplace.write("good.md", PUMPS)
    following = Unpacking.next

    def stumble(self: Unpacking) -> Any:
        if self.seen:
            raise RecursionError("too deep")
        return following(self)

    monkeypatch.setattr(Unpacking, "next", stumble)
    failed = workplace.ingest().failed[0]
    assert "RecursionError: too deep" in failed.reason
    assert workplace.states() == {"a.zip": "failed", "a.zip/bread.md": "indexed", "good.md": "indexed"}


@pytest.mark.parametrize(
    "error", [ParserUnavailable("no process"), StoreUnavailable("no store"), LedgerUnavailable("no database")]
)
def test_what_is_no_fault_of_a_file_stops_everything(workplace: Workplace, error: Exception) -> None:
    workplace.write("pumps.md", PUMPS)

    def stop(_: Path) -> None:
        raise error

    with pytest.raises(type(error)):
        workplace.ingest(parser=CountingParser(stop))
    assert workplace.states() == {"pumps.md": "parsing"}, "it is taken up again by the next ingest"


def test_a_defect_of_the_embedding_model_stops_everything(workplace: Workplace, counting: CountingEmbedder) -> None:
    workplace.write("pumps.md", PUMPS)
    counting.embed_passages = lambda _: 1 / 0
    with pytest.raises(ZeroDivisionError):
        workplace.ingest()
    assert workplace.states() == {"pumps.md": "embedding"}
