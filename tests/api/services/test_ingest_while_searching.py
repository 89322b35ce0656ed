"""Ingesting into a collection that the service has open: searched meanwhile, cancelled, gone on with, made anew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.bootstrap import Candor
from api.services.collection_pool import CollectionPool
from api.services.ingest import IngestJobSpec, run_ingest_job
from ingest.errors import IngestUnderWay, NothingToIngest
from ingest.ledger.records import DocumentState
from ingest.pipeline.reports import IngestReport, Progress
from support.models import write_model
from vectorstore.embedding.embedder import make_embedder
from vectorstore.errors import CollectionClosed, CollectionNotFound
from vectorstore.models import ChunkFilter
from vectorstore.settings import EmbeddingSettings, VectorStoreSettings

EDITIONS = 4


@pytest.fixture
def candor(make_candor: Callable[..., Candor]) -> Candor:
    """With nothing in it yet."""
    return make_candor()


@pytest.fixture
def pool(candor: Candor) -> Iterator[CollectionPool]:
    """What the service has open."""
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
    """Into the collection `papers`."""
    named = tuple(map(str, paths))
    order = IngestJobSpec(collection="papers", paths=named, documents=documents, retry_failed=retry_failed)
    return run_ingest_job(candor.ingest, pool, order, progress, cancelled)


def write_edition(path: Path, edition: int) -> None:
    """A document of two passages; each says which edition it is of."""
    path.write_text("\n\n".join(f"## Part {part}\n\nEdition {edition} works.{' Really.' * 150}" for part in range(2)))


@contextmanager
def searching(pool: CollectionPool) -> Iterator[list[frozenset[str]]]:
    """Two who search all the time; collects which editions each of their searches saw."""
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


def test_every_search_beside_an_ingest_sees_one_edition_and_the_whole_of_it(
    candor: Candor, pool: CollectionPool, tmp_path: Path
) -> None:
    document = tmp_path / "pumps.md"
    write_edition(document, 0)
    ingest(candor, pool, document)
    with searching(pool) as seen:
        for edition in range(1, EDITIONS):
            write_edition(document, edition)
            assert ingest(candor, pool, document).indexed == 1
    assert {len(editions) for editions in seen} == {1}, "neither none nor two at once"
    assert len(set(seen)) > 1, "the new ones were seen as soon as they were there"


def test_a_new_collection_can_be_searched_at_once(candor: Candor, pool: CollectionPool, folder: Path) -> None:
    told: list[Progress] = []
    with pytest.raises(CollectionNotFound):
        pool.get("papers")
    report = ingest(candor, pool, folder, progress=told.append)
    assert (report.indexed, report.cancelled, told[-1].files_done) == (2, False, 2)
    [best, *_] = pool.get("papers").library.retriever.search(["How cold may it be for the Borea 12?"], 3)
    assert best.chunk.name == "pumps.md"


def test_an_impossible_ingest_creates_no_collection(candor: Candor, pool: CollectionPool, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToIngest):
        ingest(candor, pool, tmp_path / "empty")
    assert candor.collections.list() == []


def test_a_cancelled_ingest_keeps_what_it_did_and_the_next_one_goes_on(
    candor: Candor, pool: CollectionPool, tmp_path: Path
) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.txt").write_text(f"Pump {number} works.")
    files = sorted(tmp_path.glob("*.txt"))
    told: list[Progress] = []
    first = ingest(candor, pool, *files, progress=told.append, cancelled=lambda: len(told) > 8)
    assert first.cancelled
    assert 0 < first.indexed < len(files)
    states = {document.state for document in candor.ledger.list("papers")}
    assert states == {DocumentState.INDEXED, DocumentState.DISCOVERED}, "none is left half-way"
    second = ingest(candor, pool, retry_failed=True)
    assert (second.cancelled, second.unchanged, second.indexed) == (False, 0, 20 - first.indexed)
    assert ingest(candor, pool, *files).unchanged == 20
    assert pool.get("papers").collection.count().documents == len(files)


def test_a_document_is_ingested_again_under_its_own_name(candor: Candor, pool: CollectionPool, tmp_path: Path) -> None:
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    good, bad = tmp_path / "notes" / "deep" / "good.txt", tmp_path / "notes" / "deep" / "bad.pdf"
    good.write_text("The pump works.")
    bad.write_bytes(b"%PDF-1.7 no document")
    assert len(ingest(candor, pool, tmp_path / "notes").failed) == 1
    good.write_text("The pump rattles.")
    known = candor.ledger.find("papers", "deep/good.txt")
    assert ingest(candor, pool, documents=(known.id,)).indexed == 1
    [chunk] = pool.get("papers").library.retriever.scan(ChunkFilter(documents=(known.id,)))
    assert (chunk.name, chunk.text) == ("deep/good.txt", "The pump rattles.")
    again = ingest(candor, pool, retry_failed=True)
    assert [record.name for record in again.failed] == ["deep/bad.pdf"]
    assert again.failed[0].attempts == 2


def test_two_orders_for_one_collection_are_done_one_after_the_other(
    candor: Candor, pool: CollectionPool, tmp_path: Path
) -> None:
    reports: list[IngestReport] = []
    files = [tmp_path / f"{number}.txt" for number in range(3)]
    for file in files:
        file.write_text(f"Pump {file.stem} works.")
    both = [threading.Thread(target=lambda file=file: reports.append(ingest(candor, pool, file))) for file in files]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [report.indexed for report in reports] == [1, 1, 1]
    assert pool.get("papers").collection.count().documents == 3


def test_a_collection_is_dropped_beside_searches_but_not_beside_an_ingest(
    candor: Candor, pool: CollectionPool, folder: Path
) -> None:
    refused: list[Exception] = []

    def drop(_: Progress) -> None:
        if not refused:
            with pytest.raises(IngestUnderWay) as told:
                pool.drop("papers")
            refused.append(told.value)

    report = ingest(candor, pool, folder, progress=drop)
    assert (report.indexed, len(refused)) == (2, 1)
    opened = pool.get("papers")
    pool.drop("papers")
    with pytest.raises(CollectionNotFound):
        pool.get("papers")
    with pytest.raises(CollectionClosed, match="'papers' is closed"):
        opened.library.search(["pump"], 3)


def test_under_another_embedding_model_all_is_embedded_anew_first(
    candor: Candor, pool: CollectionPool, folder: Path, tmp_path: Path, make_candor: Callable[..., Candor]
) -> None:
    ingest(candor, pool, folder)
    pool.close()
    model = EmbeddingSettings(model=str(write_model(tmp_path)))
    changed = make_candor(store=VectorStoreSettings(embedding=model))
    changed.embedder = make_embedder(model)
    anew = CollectionPool(changed.collections)
    try:
        (folder / "more.txt").write_text("Another pump.")
        assert ingest(changed, anew, folder / "more.txt", cancelled=lambda: True).cancelled
        assert ingest(changed, anew, folder / "more.txt").indexed == 1
        opened = anew.get("papers").collection
        assert (opened.count().documents, opened.spec.embedding_model) == (3, model.model)
    finally:
        anew.close()
