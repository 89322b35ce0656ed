"""A server that is away for some seconds, or for good, while it is used."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from qdrant_client import QdrantClient

from support.chunks import SPEC, make_chunk, make_vectors
from support.qdrant import QdrantNode, needs_qdrant, running_qdrant
from support.waiting import until
from vectorstore.errors import StoreUnavailable
from vectorstore.models import Chunk, Counts, SearchMode
from vectorstore.qdrant_server.store import LANGUAGES_TTL_S, ServerStore, connect
from vectorstore.store import Collection, Query
from vectorstore.text.languages import LANGUAGE

pytestmark = needs_qdrant

BATCHES, PER_BATCH = 40, 5
VECTORS = make_vectors(PER_BATCH)


@pytest.fixture(scope="module")
def node() -> Iterator[QdrantNode]:
    """One server for all tests."""
    with running_qdrant() as node:
        yield node


@pytest.fixture
def store(node: QdrantNode) -> Iterator[ServerStore]:
    """A store without collections."""
    store = ServerStore(connect(node.url, None, retry_s=300))
    yield store
    for listed in store.list():
        store.drop(listed.name)


def batch(number: int) -> list[Chunk]:
    document = f"/docs/{number}.md"
    return [make_chunk(f"passage {index} of {number}", document=document, index=index) for index in range(PER_BATCH)]


def search(papers: Collection) -> int:
    return len(papers.search(SearchMode.HYBRID, Query("passage", VECTORS[0]), limit=3))


def test_writes_and_searches_wait_while_the_server_restarts(node: QdrantNode, store: ServerStore) -> None:
    with store.create(SPEC) as papers, ThreadPoolExecutor(4) as pool:
        papers.upsert(batch(0), VECTORS)
        writes = [pool.submit(papers.upsert, batch(number), VECTORS) for number in range(1, BATCHES)]
        searches = [pool.submit(search, papers) for _ in range(BATCHES)]
        until(writes[0].done)
        node.kill()
        assert not all(write.done() for write in writes), "the rest waits for the server"
        node.start()
        for write in writes:
            write.result()
        assert [found.result() for found in searches] == [3] * BATCHES
        assert papers.count() == Counts(documents=BATCHES, chunks=BATCHES * PER_BATCH)


def test_requests_fail_at_once_when_the_server_has_been_away_for_longer(node: QdrantNode, store: ServerStore) -> None:
    store.create(SPEC).close()
    with ServerStore(connect(node.url, None, retry_s=1)).open("papers") as papers:
        node.kill()
        try:
            began = time.monotonic()
            with pytest.raises(StoreUnavailable, match="does not respond"):
                papers.count()
            assert time.monotonic() - began >= 1
            began = time.monotonic()
            with pytest.raises(StoreUnavailable, match="does not respond"):
                papers.count()
            assert time.monotonic() - began < 1, "it is not repeated again"
        finally:
            node.start()
        assert papers.count().chunks == 0, "it is used again when the server is back"


def test_languages_are_counted_once_until_a_write(store: ServerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    facets: list[str] = []
    count = QdrantClient.facet

    def facet(client: QdrantClient, name: str, *fields: str, **options: Any) -> Any:
        facets.append(name)
        return count(client, name, *fields, **options)

    monkeypatch.setattr(QdrantClient, "facet", facet)
    with store.create(SPEC) as papers, store.open("papers") as also:
        papers.upsert(batch(0), VECTORS)
        for _ in range(5):
            search(also)
        assert len(facets) == 1
        german = make_chunk("Die Wärmepumpen heizen.", document="/docs/de.md", metadata={LANGUAGE: "de"})
        papers.upsert([german], VECTORS[:1])
        assert also.languages() == {"en": PER_BATCH, "de": 1}
        [hit] = also.search(SearchMode.WORDS, Query("Wärmepumpe"), limit=3)
        assert hit.chunk == german
        assert len(facets) == 2
        later = time.monotonic() + LANGUAGES_TTL_S + 1
        monkeypatch.setattr(time, "monotonic", lambda: later)
        also.languages()
        assert len(facets) == 3, "other processes may have written"


def test_a_scan_reads_all_pages(store: ServerStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("vectorstore.qdrant_server.store.PAGE", 7)
    with store.create(SPEC) as papers:
        for number in range(4):
            papers.upsert(batch(number), VECTORS)
        assert list(papers.scan()) == [chunk for number in range(4) for chunk in batch(number)]
