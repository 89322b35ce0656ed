"""Repeated ingests: files that have changed, moved, disappeared, or failed before."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from ingest.chunking.chunker import Chunker
from ingest.errors import NothingToIngest
from ingest.ledger.versions import LiveCollection, remove_documents
from ingest.parser import load_parser
from ingest.pipeline.pipeline import IngestPipeline
from ingest.pipeline.plan import IngestRequest, Plan, Verdict
from ingest.settings import IngestSettings
from support.opened import opened_files
from support.waiting import until
from support.workplace import BREAD, PUMPS, CountingEmbedder, CountingParser, Workplace, ingest_with


def test_a_moved_file_is_not_embedded_again(workplace: Workplace, counting: CountingEmbedder) -> None:
    path = workplace.write("untitled.txt", "Nothing in here is a heading.\n")
    workplace.ingest()
    path.rename(workplace.documents / "other name.txt")
    report = workplace.ingest()
    assert (report.indexed, report.embedded, report.removed) == (1, 0, ("untitled.txt",))
    assert report.moved == {"untitled.txt": "other name.txt"}
    assert len(counting.embedded) == 1
    assert workplace.searched("heading") == ["other name.txt"]
    assert workplace.states() == {"other name.txt": "indexed", "untitled.txt": "removed"}
    assert workplace.ledger.find("papers", "untitled.txt").reason.endswith("other name.txt")


def test_equal_texts_are_embedded_once(workplace: Workplace, counting: CountingEmbedder) -> None:
    workplace.write("a.md", PUMPS)
    workplace.write("b.md", PUMPS)
    assert workplace.ingest().embedded == 1
    workplace.write("c.md", PUMPS)
    assert workplace.ingest().embedded == 0
    assert len(counting.embedded) == 1
    assert len(workplace.searched("heat pump")) == 3


def test_only_new_chunks_of_a_changed_document_are_embedded(workplace: Workplace, counting: CountingEmbedder) -> None:
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


def test_a_search_during_an_ingest_sees_one_version(workplace: Workplace) -> None:
    def content(number: int) -> str:
        return "\n\n".join(f"## Part {part}\n\n" + f"Version {number} of part {part}. " * 30 for part in range(6))

    path = workplace.write("report.md", content(0))
    workplace.ingest()
    with workplace.collection() as collection:
        live = LiveCollection(collection, workplace.ledger)
        pipeline = IngestPipeline(
            parser=load_parser("default"), chunker=workplace.chunker, embedder=workplace.embedder,
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
            path.write_text(content(number))
            ingest_with(pipeline, workplace.ledger, IngestRequest(collection="papers", paths=(workplace.documents,)))
            enough = len(seen) + 3  # at least one whole search of the new version
            until(lambda enough=enough: len(seen) >= enough)
        stop.set()
        searching.join()
        parts = str(len(list(live.scan())))
    assert len(seen) > 10
    assert len(set.union(*seen)) > 3  # it saw several versions
    assert all(len(versions) == 2 and parts in versions for versions in seen)


def test_sync_removes_documents_whose_files_are_missing(workplace: Workplace, tmp_path: Path) -> None:
    path = workplace.write("sub/pumps.md", PUMPS)
    workplace.write("bread.md", BREAD)
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("# Elsewhere\n\nAnother heat pump.\n")
    workplace.ingest(workplace.documents, elsewhere)
    path.unlink()
    elsewhere.unlink()
    plans: list[Plan] = []
    assert workplace.ingest(on_plan=plans.append).removed == ()
    assert plans[0].notices == ("1 document can still be searched, although the file is gone. `--sync` removes it.",)
    assert workplace.ingest(sync=True).removed == ("sub/pumps.md",)
    assert workplace.chunks(path) == []
    assert workplace.states() == {"bread.md": "indexed", "elsewhere.md": "indexed", "sub/pumps.md": "removed"}


def test_sync_of_an_empty_folder_removes_nothing(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.ingest()
    path.unlink()
    with pytest.raises(NothingToIngest):
        workplace.ingest(sync=True)
    assert len(workplace.chunks()) == 1


def test_a_removed_document_is_not_found_but_stays_in_the_ledger(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS)
    workplace.write("bread.md", BREAD)
    workplace.ingest()
    with workplace.collection() as collection:
        remove_documents(collection, workplace.ledger, [workplace.ledger.find("papers", "pumps.md")], "by hand")
    assert workplace.searched("heat") == ["bread.md"]
    assert workplace.chunks(path) == []
    assert workplace.states() == {"bread.md": "indexed", "pumps.md": "removed"}
    assert workplace.ingest().indexed == 1  # its file is still there


def test_a_known_failure_is_retried_only_on_request(workplace: Workplace) -> None:
    path = workplace.write("binary.dat", bytes(range(256)) * 4)
    os.utime(path, (1, 1))
    parser = CountingParser()
    assert len(workplace.ingest(parser=parser).failed) == 1
    again = workplace.ingest(parser=parser)
    assert (len(again.failed), again.failed_before, len(parser.parsed)) == (1, 1, 1)
    retried = workplace.ingest(parser=parser, retry_failed=True)
    assert (len(retried.failed), retried.failed_before, len(parser.parsed)) == (1, 0, 2)
    assert workplace.ledger.find("papers", "binary.dat").attempts == 2


def test_changed_settings_are_announced_before_the_ingest(workplace: Workplace) -> None:
    path = workplace.write("pumps.md", PUMPS * 20)
    workplace.ingest()
    before = {chunk.id for chunk in workplace.chunks(path)}
    with workplace.collection() as collection:
        spec = collection.spec
    workplace.chunker = Chunker(workplace.embedder.count_tokens, 64)
    plans: list[Plan] = []
    with workplace.store.create(spec) as collection:
        pipeline = IngestPipeline(
            parser=load_parser("default"), chunker=workplace.chunker, embedder=workplace.embedder,
            collection=collection, ledger=workplace.ledger, settings=IngestSettings(),
        )  # fmt: skip
        request = IngestRequest(collection="papers", paths=(workplace.documents,))
        ingest_with(pipeline, workplace.ledger, request, on_plan=plans.append)
        after = {chunk.id for chunk in collection.scan()}
    assert plans[0].count(Verdict.SETTINGS) == 1
    assert "64" in plans[0].notices[0]
    assert len(after) > len(before)
    assert not after & before


def test_a_plan_gives_every_file_a_verdict(workplace: Workplace) -> None:
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


def test_unchanged_files_are_not_opened(workplace: Workplace) -> None:
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
    assert [Path(path).name for path in opened if path.endswith(".md")] == ["7.md"], "the hook sees opened files"


def test_a_change_right_after_reading_is_detected(
    workplace: Workplace,
) -> None:
    modified = time.time() + 600  # so that the file is read soon after it, also on a slow machine
    path = workplace.write("pumps.md", "# Pumps\n\nIt is warm.\n")
    os.utime(path, (modified, modified))
    workplace.ingest()
    path.write_text("# Pumps\n\nIt is cold.\n")
    os.utime(path, (modified, modified))
    workplace.ingest()
    assert "cold" in workplace.chunks(path)[0].text
