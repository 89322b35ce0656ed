"""A cluster of three nodes, of which one is down: collections that cannot be read, other nodes, and error messages."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from support.chunks import SPEC, make_chunk, make_vectors
from support.qdrant import QdrantNode, needs_qdrant, running_cluster
from support.waiting import until
from vectorstore.errors import CollectionNotFound, StoreUnavailable
from vectorstore.models import Chunk, SearchMode, UnreadableCollection
from vectorstore.qdrant_server.store import ServerStore, connect
from vectorstore.settings import VectorStoreSettings
from vectorstore.store import Collection, Query

pytestmark = needs_qdrant

PAPERS = SPEC
LARGE = SPEC.model_copy(update={"name": "large"})
LOST = SPEC.model_copy(update={"name": "lost"})
OTHER = SPEC.model_copy(update={"name": "other"})
FOR_LARGE = {
    "shards": 2, "replicas": 2, "write_consistency": 2, "on_disk": ("payload", "vectors"), "quantization": "int8"
}  # fmt: skip
CHUNKS = [make_chunk(f"heat pump {number}", index=number) for number in range(60)]
VECTORS = make_vectors(len(CHUNKS))


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[QdrantNode]]:
    """A cluster whose third node is down. Parts of `papers` and `large` are on two nodes, parts of `lost` on one."""
    with running_cluster(3) as nodes:
        created = (
            (PAPERS, {"shards": 3, "replicas": 2}),
            (LOST, {"shards": 3}),
            (LARGE, FOR_LARGE),
            (OTHER, {"replicas": 2}),
        )
        for spec, settings in created:
            with store_at(nodes[0].url, **settings).create(spec) as collection:
                collection.upsert(CHUNKS, VECTORS)
        nodes[2].kill()
        yield nodes


def store_at(url: str, **settings: object) -> ServerStore:
    """Return the store of a cluster. Requests are not repeated."""
    return ServerStore(connect(url, None, retry_s=0), settings=VectorStoreSettings.model_validate(settings))


def test_a_collection_is_used_and_dropped_although_another_cannot_be_read(nodes: list[QdrantNode]) -> None:
    store = store_at(nodes[0].url)
    assert store.find("papers") == PAPERS
    with store.open("papers") as papers:
        assert papers.count().chunks == len(CHUNKS)
    store.drop("other")
    assert store.find("other") is None


def test_a_collection_that_cannot_be_read_is_listed_with_the_reason(nodes: list[QdrantNode]) -> None:
    large, lost, papers = store_at(nodes[0].url).list()
    assert (large, papers) == (LARGE, PAPERS)
    assert isinstance(lost, UnreadableCollection)
    assert lost.name == "lost"
    assert "Start the node" in lost.reason


def test_opening_it_says_which_node_to_start(nodes: list[QdrantNode]) -> None:
    store = store_at(nodes[0].url)
    for use in (store.open, store.find, store.drop):
        with pytest.raises(StoreUnavailable, match=r"cannot be reached\. Start the node.*store\.replicas = 2"):
            use("lost")
    with pytest.raises(CollectionNotFound) as raised:
        store.open("missing")
    assert "large, lost, papers" in raised.value.command


def test_the_next_url_is_used_when_a_node_is_down(nodes: list[QdrantNode]) -> None:
    down, up = nodes[2].url, nodes[1].url
    with pytest.raises(StoreUnavailable, match="does not respond"):
        store_at(down).list()
    with store_at(f"{down}, {up}").open("papers") as papers:
        hits = papers.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=100)
        assert {hit.chunk.id for hit in hits} == {chunk.id for chunk in CHUNKS}
        papers.upsert([make_chunk("written meanwhile", document="/docs/b.md")], make_vectors(1))
        assert papers.count().documents == 2


def test_a_check_of_the_right_to_write_is_no_operation_of_the_cluster(nodes: list[QdrantNode]) -> None:
    def operations() -> int:
        return httpx.get(f"{nodes[0].url}/cluster").json()["result"]["raft_info"]["commit"]

    def checks_without_one() -> bool:  # an election, or a node that starts, is an operation of its own
        before = operations()
        store_at(nodes[0].url).require_writable()
        return operations() == before

    until(checks_without_one)


def test_a_new_collection_has_the_properties_of_the_settings(nodes: list[QdrantNode]) -> None:
    store = store_at(nodes[0].url)
    with store.open("large") as large:
        assert large.search(SearchMode.MEANING, Query("", VECTORS[7]), limit=1)[0].chunk == CHUNKS[7]
    made = store._server.call(lambda client: client.get_collection("large")).config.params
    assert (made.shard_number, made.replication_factor, made.write_consistency_factor) == (2, 2, 2)
    vectors = made.vectors["dense"]
    assert vectors.on_disk is True
    assert vectors.quantization_config.scalar.type == "int8"


def test_nothing_is_lost_and_nothing_fails_during_a_rolling_restart(nodes: list[QdrantNode]) -> None:
    """The last test, because it starts the third node."""
    nodes[2].start()
    urls = ",".join(node.url for node in nodes)
    store = ServerStore(connect(urls, None), settings=VectorStoreSettings(shards=3, replicas=2))
    ended = threading.Event()
    with store.create(SPEC.model_copy(update={"name": "rolling"})) as rolling, ThreadPoolExecutor(2) as pool:
        rolling.upsert(CHUNKS, VECTORS)
        writes, searches = pool.submit(write, rolling, ended), pool.submit(search, rolling, ended)
        try:
            for node in nodes:
                node.kill()
                node.start()
        finally:
            ended.set()
        written, searched = writes.result(), searches.result()
    assert len(written) > len(CHUNKS)
    assert searched > len(nodes)
    for node in nodes:
        with store_at(node.url).open("rolling") as through:
            assert through.missing([chunk.id for chunk in written]) == []


def test_a_copy_that_lacks_passages_is_found_and_repaired(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with running_cluster(2) as nodes:
        store = store_at(",".join(node.url for node in nodes), replicas=2)
        with store.create(SPEC) as papers:
            papers.upsert(CHUNKS[:20], VECTORS[:20])
            nodes[1].stop()
            shutil.copytree(nodes[1].folder, tmp_path / "earlier")
            nodes[1].start()
            papers.upsert(CHUNKS[20:], VECTORS[20:])
            assert papers.missing([chunk.id for chunk in CHUNKS]) == []
            nodes[1].stop()
            nodes[1].lose_data()
            shutil.copytree(tmp_path / "earlier", nodes[1].folder)
            nodes[1].start()
            missing = papers.missing([chunk.id for chunk in CHUNKS])
            assert missing == [chunk.id for chunk in CHUNKS[20:]]
            assert f"at {nodes[1].url} lack passages" in caplog.text
            assert sum(papers.languages().values()) == 20
            papers.upsert(CHUNKS[20:], VECTORS[20:])
            assert papers.missing([chunk.id for chunk in CHUNKS]) == []


def write(collection: Collection, ended: threading.Event) -> list[Chunk]:
    """Write documents until the end, and return their chunks."""
    written = list(CHUNKS)
    while not ended.is_set():
        document = f"/docs/{len(written)}.md"
        batch = [make_chunk(f"passage {index}", document=document, index=index) for index in range(20)]
        collection.upsert(batch, VECTORS[:20])
        written += batch
    return written


def search(collection: Collection, ended: threading.Event) -> int:
    """Search until the end, and return the number of searches."""
    searched = 0
    while not ended.is_set():
        assert len(collection.search(SearchMode.HYBRID, Query("heat", VECTORS[0]), limit=10)) == 10
        searched += 1
    return searched
