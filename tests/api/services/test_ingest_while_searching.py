"""Ingesting into a collection that the service has open: searched meanwhile, cancelled, gone on with, made anew."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from api.bootstrap import Candor
from api.services.collection_pool import Shelf
from api.services.ingest import IngestOrder, ingest_for_service
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
def shelf(candor: Candor) -> Iterator[Shelf]:
    """What the service has open."""
    shelf = Shelf(candor)
    yield shelf
    shelf.close()


def ingest(
    candor: Candor,
    shelf: Shelf,
    *paths: Path,
    progress: Callable[[Progress], None] = lambda _: None,
    cancelled: Callable[[], bool] = lambda: False,
    documents: tuple[str, ...] = (),
    retry_failed: bool = False,
) -> IngestReport:
    """Into the collection `papers`."""
    named = tuple(map(str, paths))
    order = IngestOrder(collection="papers", paths=named, documents=documents, retry_failed=retry_failed)
    return ingest_for_service(candor, shelf, order, progress, cancelled)


def write_edition(path: Path, edition: int) -> None:
    """A document of two passages; each says which edition it is of."""
    path.write_text("\n\n".join(f"## Part {part}\n\nEdition {edition} works.{' Really.' * 150}" for part in range(2)))


@contextmanager
def searching(shelf: Shelf) -> Iterator[list[frozenset[str]]]:
    """Two who search all the time; collects which editions each of their searches saw."""
    seen: list[frozenset[str]] = []
    ended = threading.Event()

    def search() -> None:
        while not ended.wait(0.005):
            found = [hit.chunk for hit in shelf.take("papers").library.retriever.search(["pump works"], 9)]
            seen.append(frozenset(chunk.version for chunk in found))
            seen.append(frozenset(chunk.version for chunk in shelf.take("papers").library.scan()))

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
    candor: Candor, shelf: Shelf, tmp_path: Path
) -> None:
    document = tmp_path / "pumps.md"
    write_edition(document, 0)
    ingest(candor, shelf, document)
    with searching(shelf) as seen:
        for edition in range(1, EDITIONS):
            write_edition(document, edition)
            assert ingest(candor, shelf, document).indexed == 1
    assert {len(editions) for editions in seen} == {1}, "neither none nor two at once"
    assert len(set(seen)) > 1, "the new ones were seen as soon as they were there"


def test_a_new_collection_is_made_and_can_be_searched_at_once(candor: Candor, shelf: Shelf, folder: Path) -> None:
    told: list[Progress] = []
    with pytest.raises(CollectionNotFound):
        shelf.take("papers")
    report = ingest(candor, shelf, folder, progress=told.append)
    assert (report.indexed, report.cancelled, told[-1].files_done) == (2, False, 2)
    [best, *_] = shelf.take("papers").library.retriever.search(["How cold may it be for the Borea 12?"], 3)
    assert best.chunk.name == "pumps.md"


def test_nothing_is_made_for_an_order_that_cannot_be_done(candor: Candor, shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(NothingToIngest):
        ingest(candor, shelf, tmp_path / "empty")
    assert candor.collections() == []


def test_a_cancelled_ingest_keeps_what_it_did_and_the_next_one_goes_on(
    candor: Candor, shelf: Shelf, tmp_path: Path
) -> None:
    for number in range(20):
        (tmp_path / f"{number:02}.txt").write_text(f"Pump {number} works.")
    files = sorted(tmp_path.glob("*.txt"))
    told: list[Progress] = []
    first = ingest(candor, shelf, *files, progress=told.append, cancelled=lambda: len(told) > 8)
    assert first.cancelled
    assert 0 < first.indexed < len(files)
    states = {document.state for document in candor.ledger.list("papers")}
    assert states == {DocumentState.INDEXED, DocumentState.DISCOVERED}, "none is left half-way"
    second = ingest(candor, shelf, retry_failed=True)
    assert (second.cancelled, second.unchanged, second.indexed) == (False, 0, 20 - first.indexed)
    assert ingest(candor, shelf, *files).unchanged == 20
    assert shelf.take("papers").collection.count().documents == len(files)


def test_a_document_is_ingested_again_under_its_own_name(candor: Candor, shelf: Shelf, tmp_path: Path) -> None:
    (tmp_path / "notes" / "deep").mkdir(parents=True)
    good, bad = tmp_path / "notes" / "deep" / "good.txt", tmp_path / "notes" / "deep" / "bad.pdf"
    good.write_text("The pump works.")
    bad.write_bytes(b"%PDF-1.7 no document")
    assert len(ingest(candor, shelf, tmp_path / "notes").failed) == 1
    good.write_text("The pump rattles.")
    known = candor.ledger.find("papers", "deep/good.txt")
    assert ingest(candor, shelf, documents=(known.id,)).indexed == 1
    [chunk] = shelf.take("papers").library.retriever.scan(ChunkFilter(documents=(known.id,)))
    assert (chunk.name, chunk.text) == ("deep/good.txt", "The pump rattles.")
    again = ingest(candor, shelf, retry_failed=True)
    assert [record.name for record in again.failed] == ["deep/bad.pdf"]
    assert again.failed[0].attempts == 2


def test_two_orders_for_one_collection_are_done_one_after_the_other(
    candor: Candor, shelf: Shelf, tmp_path: Path
) -> None:
    reports: list[IngestReport] = []
    files = [tmp_path / f"{number}.txt" for number in range(3)]
    for file in files:
        file.write_text(f"Pump {file.stem} works.")
    both = [threading.Thread(target=lambda file=file: reports.append(ingest(candor, shelf, file))) for file in files]
    for one in both:
        one.start()
    for one in both:
        one.join()
    assert [report.indexed for report in reports] == [1, 1, 1]
    assert shelf.take("papers").collection.count().documents == 3


def test_a_collection_is_dropped_beside_searches_but_not_beside_an_ingest(
    candor: Candor, shelf: Shelf, folder: Path
) -> None:
    refused: list[Exception] = []

    def drop(_: Progress) -> None:
        if not refused:
            with pytest.raises(IngestUnderWay) as told:
                shelf.drop("papers")
            refused.append(told.value)

    report = ingest(candor, shelf, folder, progress=drop)
    assert (report.indexed, len(refused)) == (2, 1)
    opened = shelf.take("papers")
    shelf.drop("papers")
    with pytest.raises(CollectionNotFound):
        shelf.take("papers")
    with pytest.raises(CollectionClosed, match="'papers' is closed"):
        opened.library.search(["pump"], 3)


def test_under_another_embedding_model_all_is_embedded_anew_first(
    candor: Candor, shelf: Shelf, folder: Path, tmp_path: Path, make_candor: Callable[..., Candor]
) -> None:
    ingest(candor, shelf, folder)
    shelf.close()
    model = EmbeddingSettings(model=str(write_model(tmp_path)))
    changed = make_candor(store=VectorStoreSettings(embedding=model))
    changed.embedder = make_embedder(model)
    anew = Shelf(changed)
    try:
        (folder / "more.txt").write_text("Another pump.")
        assert ingest(changed, anew, folder / "more.txt", cancelled=lambda: True).cancelled
        assert ingest(changed, anew, folder / "more.txt").indexed == 1
        opened = anew.take("papers").collection
        assert (opened.count().documents, opened.spec.embedding_model) == (3, model.model)
    finally:
        anew.close()
