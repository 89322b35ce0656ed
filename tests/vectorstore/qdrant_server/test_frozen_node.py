"""A node of a cluster is frozen: it accepts connections and never answers."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

import pytest

from support.chunks import SPEC, make_chunk, make_vectors
from support.qdrant import QdrantNode, needs_qdrant, running_cluster
from vectorstore.models import SearchMode
from vectorstore.qdrant_server.store import ServerStore, connect
from vectorstore.settings import VectorStoreSettings
from vectorstore.store import Query

pytestmark = needs_qdrant

CHUNKS = [make_chunk(f"heat pump {number}", index=number) for number in range(20)]
VECTORS = make_vectors(len(CHUNKS))
TIMEOUT_S = 100.0


@pytest.fixture(scope="module")
def nodes() -> Iterator[list[QdrantNode]]:
    with running_cluster(3) as nodes:
        yield nodes


@pytest.mark.parametrize("frozen", range(3))
def test_a_search_does_not_wait_for_a_frozen_node(nodes: list[QdrantNode], frozen: int) -> None:
    connection = connect(",".join(node.url for node in nodes), None, timeout_s=TIMEOUT_S)
    store = ServerStore(connection, settings=VectorStoreSettings(replicas=2))
    with store.create(SPEC) as collection:
        collection.upsert(CHUNKS, VECTORS)
        os.kill(nodes[frozen].pid, signal.SIGSTOP)
        try:
            for _ in range(2):
                began = time.monotonic()
                found = collection.search(SearchMode.HYBRID, Query("pump", VECTORS[0]), limit=3)
                assert len(found) == 3
                assert time.monotonic() - began < TIMEOUT_S / 2, "each of two nodes may take two seconds"
        finally:
            os.kill(nodes[frozen].pid, signal.SIGCONT)
