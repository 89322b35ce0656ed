"""Ingesting into a collection that the service has open: concurrent searches, cancellation, a new embedding model."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.bootstrap import Candor
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.ingest import run_ingest_job
from ingest.errors import IngestUnderWay, NothingToIngest
from ingest.ledger.records import DocumentState
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport, Progress
from support.models import write_model
from support.waiting import until
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import CollectionClosed, CollectionNotFound
from vectorstore.models import ChunkFilter
from vectorstore.settings import EmbeddingSettings, VectorStoreSettings

VERSIONS = 4


@pytest.fixture
def candor(make_candor: Callable[..., Candor], tmp_path: Path) -> Candor:
    return make_candor(ingest={"embed_batch": 1}, service={"ingest_roots": (tmp_path,)})


@pytest.fixture
def pool(candor: Candor) -> Iterator[CollectionPool]:
    pool = CollectionPool(candor.collections)
    yield pool
    pool.close()


def ingest(
    candor: Candor,
    pool: CollectionPool,
    *paths: Path,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    documents: tuple[str, ...] = (),
    retry_failed: bool = False,
) -> IngestReport:
    """Run an ingest job for the collection `papers`."""
    strings = tuple(map(str, paths))
    spec = IngestRequest(collection="papers", paths=strings, documents=documents, retry_failed=retry_failed)
    return run_ingest_job(candor.ingest, pool, spec, progress, cancelled)


def write_version(path: Path, version: int) -> None:
    """Write a document of two passages, each with the version in its text."""
    path.write_text("\n\n".join(f"## Part {part}\n\nVersion {version} works.{' Really.' * 150}" for part in range(2)))


def some_indexed(reported: list[Progress]) -> bool:
    """Return whether the last report is of an ingest that has indexed a file."""
    return bool(reported) and reported[-1].files_done > 0


@contextmanager
def searching(pool: CollectionPool) -> Iterator[list[frozenset[str]]]:
    """Search and scan in two threads; yield the versions that each result contained."""
    seen: list[frozenset[str]] = []
    ended = threading.Event()

    def search() -> None:
        while not ended.wait(0.005):
            found = [hit.chunk for hit in pool.get("papers").library.retriever.search(["pump works"], 9)]
            seen.append(frozenset(chunk.version for chunk in found))
            seen.append(frozenset(chunk.version for chunk in pool.get("papers").library.scan()))

    searchers = [threading.Thread(target=search) for _ in range(2)]
    for searcher in searchers:
        searcher.start()
    try:
        yield seen
    finally:
        ended.set()
        for searcher in searchers:
            searcher.join()


def test_every_search_during_an_ingest_sees_one_version(candor: Candor, pool: CollectionPool, tmp_path: Path) -> None:
    document = tmp_path / "pumps.md"
    write_version(document, 0)
    ingest(candor, pool, document)
    with searching(pool) as seen:
        for version in range(1, VERSIONS):
            write_version(document, version)
            assert ingest(candor, pool, document).indexed == 1
            enough = len(seen) + 5  # at least one whole search of the new version
            until(lambda enough=enough: len(seen) >= enough)
    assert {len(versions) for versions in seen} == {1}, "no result is empty or mixes versions"
    assert len(set(seen)) > 1, "new versions are found while others are ingested"


def test_a_new_collection_can_be_searched_immediately(candor: Candor, pool: CollectionPool, folder: Path) -> None:
    reported: list[Progress] = []
    with pytest.raises(CollectionNotFound):
        pool.get("papers")
    report = ingest(candor, pool, folder, progress=reported.append)
    assert (report.indexed, report.cancelled, reported[-1].files_done) == (2, False, 2)
    [best, *_] = pool.get("papers").library.retriever.search(["How cold may it be for the Borea 12?"], 3)
    assert best.chunk.name == "pumps.md"


def test_an_impossible_ingest_creates_no_collection(candor: Candor, pool: CollectionPool, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToIngest):
        ingest(candor, pool, tmp_path / "empty")
    assert candor.collections.list() == []


def test_the_next_ingest_continues_a_cancelled_one(candor: Candor, pool: CollectionPool, tmp_path: Path) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.txt").write_text(f"Pump {number} works.")
    files = sorted(tmp_path.glob("*.txt"))
    reported: list[Progress] = []
    first = ingest(candor, pool, *files, progress=reported.append, cancelled=lambda: some_indexed(reported))
    assert first.cancelled
    assert 0 < first.indexed < len(files)
    states = {document.state for document in candor.ledger.list("papers")}
    assert states == {DocumentState.INDEXED, DocumentState.DISCOVERED}, "no document is half ingested"
    second = ingest(candor, pool, retry_failed=True)
    assert (second.cancelled, second.unchanged, second.indexed) == (False, 0, 20 - first.indexed)
    assert ingest(candor, pool, *files).unchanged == 20
    assert pool.get("papers").collection.count().documents == len(files)


def test_a_document_keeps_its_name_when_ingested_again(candor: Candor, pool: CollectionPool, tmp_path: Path) -> None:
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    good, bad = tmp_path / "notes" / "deep" / "good.txt", tmp_path / "notes" / "deep" / "bad.pdf"
    good.write_text("The pump works.")
    bad.write_bytes(b"%PDF-1.7 no document")
    assert len(ingest(candor, pool, tmp_path / "notes").failed) == 1
    good.write_text("The pump rattles.")
    record = candor.ledger.find("papers", "deep/good.txt")
    assert ingest(candor, pool, documents=(record.id,)).indexed == 1
    [chunk] = pool.get("papers").library.retriever.scan(ChunkFilter(documents=(record.id,)))
    assert (chunk.name, chunk.text) == ("deep/good.txt", "The pump rattles.")
    again = ingest(candor, pool, retry_failed=True)
    assert [failed.name for failed in again.failed] == ["deep/bad.pdf"]
    assert again.failed[0].attempts == 2


def test_a_collection_cannot_be_dropped_during_an_ingest(candor: Candor, pool: CollectionPool, folder: Path) -> None:
    errors: list[Exception] = []

    def drop(_: Progress) -> None:
        if not errors:
            with pytest.raises(IngestUnderWay) as error:
                pool.drop("papers")
            errors.append(error.value)

    report = ingest(candor, pool, folder, progress=drop)
    assert (report.indexed, len(errors)) == (2, 1)
    opened = pool.get("papers")
    pool.drop("papers")
    with pytest.raises(CollectionNotFound):
        pool.get("papers")
    with pytest.raises(CollectionClosed, match="'papers' is closed"):
        opened.library.search(["pump"], 3)


def test_a_new_embedding_model_first_embeds_all_documents(
    candor: Candor, pool: CollectionPool, folder: Path, tmp_path: Path, make_candor: Callable[..., Candor]
) -> None:
    ingest(candor, pool, folder)
    pool.close()
    model = EmbeddingSettings(model=str(write_model(tmp_path)))
    changed = make_candor(store=VectorStoreSettings(embedding=model), service=candor.settings.service)
    changed.embedder = make_embedder(model)
    new_pool = CollectionPool(changed.collections)
    try:
        (folder / "more.txt").write_text("Another pump.")
        assert ingest(changed, new_pool, folder / "more.txt", cancelled=lambda: True).cancelled
        assert ingest(changed, new_pool, folder / "more.txt").indexed == 1
        opened = new_pool.get("papers").collection
        assert (opened.count().documents, opened.spec.embedding_model) == (3, model.model)
    finally:
        new_pool.close()
