"""Optimizing an embedded collection: what goes on meanwhile, and what an interruption leaves."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from support.chunks import SPEC, make_chunk, make_vectors
from support.optimizing import stopped_optimizers
from support.waiting import until
from vectorstore import edge, optimizer
from vectorstore.edge import EdgeCollection, EdgeStore
from vectorstore.errors import CollectionClosed, StoreUnavailable
from vectorstore.models import CollectionSpec, SearchMode

LARGE = CollectionSpec(name="papers", embedding_model="any-model", dimension=384, chunking="none")
CHUNKS = [make_chunk(f"passage {number}", index=number) for number in range(8_000)]
VECTORS = make_vectors(len(CHUNKS), LARGE.dimension)
TICK_S = 0.01


@pytest.fixture
def papers(tmp_path: Path) -> Iterator[EdgeCollection]:
    """A small collection."""
    with EdgeStore(tmp_path).create(SPEC) as papers:
        papers.upsert(CHUNKS[:100], make_vectors(100))
        yield papers


@pytest.fixture
def stopped() -> Iterator[list[int]]:
    """The ids of the processes that optimize. Each is stopped when it starts."""
    with stopped_optimizers() as pids:
        yield pids


def test_other_threads_go_on_meanwhile(tmp_path: Path) -> None:
    ended = threading.Event()
    ticks = searches = 0

    def tick() -> None:
        nonlocal ticks
        while not ended.wait(TICK_S):
            ticks += 1

    def search() -> None:
        nonlocal searches
        while not ended.is_set():
            [hit] = papers.search(SearchMode.DENSE, text="", vector=VECTORS[7], limit=1)
            assert hit.chunk == CHUNKS[7]
            searches += 1

    with EdgeStore(tmp_path).create(LARGE) as papers, ThreadPoolExecutor(2) as threads:
        papers.upsert(CHUNKS, VECTORS)
        running = [threads.submit(tick), threads.submit(search)]
        until(lambda: ticks and searches)
        ticks = searches = 0
        papers.optimize()
        counted = (ticks, searches)
        ended.set()
        for each in running:
            each.result()
        assert papers.count().chunks == len(CHUNKS)
    # With the interpreter lock held, both counts are 1 or 2. Starting a process alone takes several ticks.
    assert min(counted) >= 10


def test_reads_go_on_and_writes_wait(papers: EdgeCollection, stopped: list[int]) -> None:
    with ThreadPoolExecutor(2) as threads:
        optimizing = threads.submit(papers.optimize)
        until(lambda: stopped)
        writing = threads.submit(papers.upsert, [make_chunk("new", index=100)], make_vectors(1))
        assert papers.search(SearchMode.SPARSE, text="passage 7", vector=None, limit=1)
        assert papers.count().chunks == 100
        assert not writing.done()
        os.kill(stopped[0], signal.SIGCONT)
        optimizing.result()
        writing.result()
    assert papers.count().chunks == 101


def test_the_copy_replaces_the_shard(papers: EdgeCollection, tmp_path: Path) -> None:
    for number in range(100, 2_000, 100):
        papers.upsert(CHUNKS[number : number + 100], make_vectors(100, seed=number))
    papers.optimize()
    assert sorted(file.name for file in (tmp_path / "papers").iterdir()) == ["collection.json", "shard"]
    papers.close()
    with EdgeStore(tmp_path).open("papers") as again:
        assert [chunk.index for chunk in again.scan()] == list(range(2_000))
        found = again.vectors([CHUNKS[1_999].id])[CHUNKS[1_999].id]
    last = make_vectors(100, seed=1_900)[-1]
    np.testing.assert_allclose(found, last / np.linalg.norm(last), rtol=1e-5)


def test_a_killed_process_changes_nothing(papers: EdgeCollection, stopped: list[int], tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as threads:
        optimizing = threads.submit(papers.optimize)
        until(lambda: stopped)
        os.kill(stopped[0], signal.SIGKILL)
        with pytest.raises(StoreUnavailable, match=r"Could not optimize collection 'papers'.*SIGKILL"):
            optimizing.result()
    assert papers.count().chunks == 100
    papers.upsert([make_chunk("new", index=100)], make_vectors(1))
    assert not (tmp_path / "papers/shard.part").exists()


def test_an_error_in_the_process_is_raised_here(papers: EdgeCollection, tmp_path: Path) -> None:
    damaged = tmp_path / "papers/shard/edge_config.json"
    content = damaged.read_bytes()
    damaged.write_text("{")
    with pytest.raises(StoreUnavailable, match=r"Could not optimize collection 'papers' in .*: .*edge_config"):
        papers.optimize()
    damaged.write_bytes(content)
    assert papers.count().chunks == 100


def test_closing_waits_and_the_copy_is_not_used(papers: EdgeCollection, stopped: list[int], tmp_path: Path) -> None:
    with ThreadPoolExecutor(2) as threads:
        optimizing = threads.submit(papers.optimize)
        until(lambda: stopped)
        closing = threads.submit(papers.close)
        until(lambda: papers.closed)
        os.kill(stopped[0], signal.SIGCONT)
        closing.result()
        with pytest.raises(CollectionClosed):
            optimizing.result()
    with EdgeStore(tmp_path).open("papers") as again:
        assert again.count().chunks == 100


@pytest.mark.parametrize("removed", [False, True])
def test_an_interrupted_replacement_is_completed(papers: EdgeCollection, tmp_path: Path, *, removed: bool) -> None:
    shard = tmp_path / "papers" / edge.SHARD
    optimizer.optimize_copy(shard)
    papers.close()
    (shard.with_name("shard.part")).rename(shard.with_name("shard.new"))
    files = list((shard / "segments").rglob("*.json"))
    for file in files if removed else files[:1]:
        file.unlink()
    with EdgeStore(tmp_path).open("papers") as again:
        assert again.count().chunks == 100
    assert sorted(file.name for file in shard.parent.iterdir()) == ["collection.json", "shard"]


def test_an_incomplete_copy_is_deleted(papers: EdgeCollection, tmp_path: Path) -> None:
    papers.close()
    part = tmp_path / "papers" / "shard.part"
    part.mkdir()
    (part / "file").write_text("half")
    with EdgeStore(tmp_path).open("papers") as again:
        assert again.count().chunks == 100
    assert not part.exists()
