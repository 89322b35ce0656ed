"""Building the index of an embedded collection: when, what goes on meanwhile, and what an interruption leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import psutil
import pytest

from support.chunks import SPEC, make_chunk, make_vectors
from support.optimizing import stopped_optimizers
from support.waiting import until
from vectorstore.edge import collection as edge_collection
from vectorstore.edge import optimizer
from vectorstore.edge import shard as edge_shard
from vectorstore.edge.collection import EdgeCollection
from vectorstore.edge.store import EdgeStore
from vectorstore.errors import StoreUnavailable
from vectorstore.models import ChunkFilter, CollectionSpec, SearchMode
from vectorstore.store import Query, Vectors

LARGE = CollectionSpec(name="papers", embedding_model="any-model", dimension=384, chunking="none")
CHUNKS = [make_chunk(f"passage {number}", index=number) for number in range(8_000)]
VECTORS = make_vectors(len(CHUNKS), LARGE.dimension)
TICK_S = 0.01
PROJECT = Path(__file__).parents[3]


@pytest.fixture
def papers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[EdgeCollection]:
    """A small collection. Its index is built when 100 more chunks have changed."""
    with EdgeStore(tmp_path).create(SPEC) as papers:
        papers.upsert(CHUNKS[:100], make_vectors(100))
        monkeypatch.setattr(edge_collection, "INDEX_AFTER", 200 * 4 * SPEC.dimension)
        yield papers


@pytest.fixture
def stopped() -> Iterator[list[int]]:
    """The ids of the processes that optimize. Each is stopped when it has copied the shard."""
    with stopped_optimizers() as pids:
        yield pids


def make_due(papers: EdgeCollection) -> None:
    """Write so many chunks that the index is built."""
    papers.upsert(CHUNKS[100:200], make_vectors(100, seed=100))


def test_other_threads_go_on_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    ticks = searches = 0

    def tick() -> None:
        nonlocal ticks
        while not ended.wait(TICK_S):
            ticks += 1

    def search() -> None:
        nonlocal searches
        while not ended.is_set():
            [hit] = papers.search(SearchMode.MEANING, Query("", VECTORS[7]), limit=1)
            assert hit.chunk == CHUNKS[7]
            searches += 1

    with EdgeStore(tmp_path).create(LARGE) as papers, ThreadPoolExecutor(2) as threads:
        papers.upsert(CHUNKS, VECTORS)
        running = [threads.submit(tick), threads.submit(search)]
        until(lambda: ticks and searches)
        ticks = searches = 0
        monkeypatch.setattr(edge_collection, "INDEX_AFTER", 1)
        papers.optimize()
        counted = (ticks, searches)
        ended.set()
        for each in running:
            each.result()
        assert papers.count().chunks == len(CHUNKS)
        info = papers._require_open().info()
        assert info.indexed_vectors_count == 2 * len(CHUNKS)  # dense and sparse
    # With the interpreter lock held, both counts are 1 or 2. Starting a process alone takes several ticks.
    assert min(counted) >= 10


def test_small_uploads_start_the_build(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stopped: list[int]) -> None:
    monkeypatch.setattr(edge_collection, "INDEX_AFTER", 30 * 4 * SPEC.dimension)
    for start in range(0, 30, 10):
        with EdgeStore(tmp_path).create(SPEC) as papers:  # as commands do, one after the other
            assert not stopped
            papers.upsert(CHUNKS[start : start + 10], make_vectors(10, seed=start))
            if start == 20:
                until(lambda: stopped)
    with EdgeStore(tmp_path).open("papers"):  # the build was given up; a search does not start it again
        assert len(stopped) == 1
    with EdgeStore(tmp_path, serving=True).open("papers") as papers:  # but a service does
        until(lambda: len(stopped) == 2)
        os.kill(stopped[1], signal.SIGCONT)
        papers.optimize()
        assert papers._changes.value == 0


def test_deleted_and_replaced_chunks_count(papers: EdgeCollection, stopped: list[int]) -> None:
    papers.delete(ChunkFilter(positions=(0, 49)))
    assert not stopped
    papers.upsert(CHUNKS[:50], make_vectors(50))
    until(lambda: stopped)


def test_reads_and_writes_go_on_and_nothing_is_lost(papers: EdgeCollection, stopped: list[int], tmp_path: Path) -> None:
    make_due(papers)
    until(lambda: stopped)
    later = CHUNKS[200:250]
    papers.upsert(later, make_vectors(50, seed=200))
    papers.upsert(CHUNKS[:10], make_vectors(10, seed=7))
    papers.delete(ChunkFilter(positions=(20, 29)))
    papers.upsert(CHUNKS[25:26], make_vectors(1, seed=25))
    expected = [*range(20), 25, *range(30, 250)]
    assert [chunk.index for chunk in papers.scan()] == expected
    os.kill(stopped[0], signal.SIGCONT)
    papers.optimize()
    assert [chunk.index for chunk in papers.scan()] == expected
    assert papers._changes.value == 50 + 10 + 10 + 1
    papers.close()
    with EdgeStore(tmp_path).open("papers") as again:
        assert [chunk.index for chunk in again.scan()] == expected
        assert_vector(again, 3, make_vectors(10, seed=7)[3])
        assert_vector(again, 25, make_vectors(1, seed=25)[0])
        assert_vector(again, 249, make_vectors(50, seed=200)[49])


def test_many_writes_meanwhile_are_repeated_in_the_process(
    papers: EdgeCollection, stopped: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    replays: list[None] = []
    replay = optimizer.OptimizedCopy.replay
    monkeypatch.setattr(optimizer.OptimizedCopy, "replay", lambda self: (replays.append(None), replay(self)))
    monkeypatch.setattr(edge_collection, "FLUSH_AFTER", 99)
    make_due(papers)
    until(lambda: stopped)
    papers.upsert(CHUNKS[200:300], make_vectors(100, seed=200))
    os.kill(stopped[0], signal.SIGCONT)
    papers.optimize()
    assert len(replays) == 1
    assert [chunk.index for chunk in papers.scan()] == list(range(300))
    assert_vector(papers, 299, make_vectors(100, seed=200)[99])


def test_only_the_rest_of_a_long_log_is_replayed_again(
    tmp_path: Path, stopped: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[set[str]] = []
    take_log = optimizer.OptimizedCopy.take_log

    def recorded(self: optimizer.OptimizedCopy) -> None:
        take_log(self)
        taken.append({file.name for file in (tmp_path / "papers" / "shard.part" / "wal").glob("closed-*")})

    monkeypatch.setattr(optimizer.OptimizedCopy, "take_log", recorded)
    monkeypatch.setattr(edge_collection, "FLUSH_AFTER", 99)
    with EdgeStore(tmp_path).create(LARGE) as papers:
        papers.upsert(CHUNKS[:100], VECTORS[:100])
        papers._building.start()
        until(lambda: stopped)
        for _ in range(2):  # the engine begins a new file of the log after 32 MiB
            papers.upsert(CHUNKS, VECTORS)
        papers.delete(ChunkFilter(positions=(10, 19)))
        os.kill(stopped[0], signal.SIGCONT)
        papers._building.wait()
        expected = [*range(10), *range(20, len(CHUNKS))]
        assert [chunk.index for chunk in papers.scan()] == expected
    first, last = taken
    assert first
    assert not first & last
    with EdgeStore(tmp_path).open("papers") as again:
        assert [chunk.index for chunk in again.scan()] == expected


def test_the_copy_replaces_the_shard(papers: EdgeCollection, tmp_path: Path) -> None:
    for number in range(100, 2_000, 100):
        papers.upsert(CHUNKS[number : number + 100], make_vectors(100, seed=number))
    papers.optimize()
    assert sorted(file.name for file in (tmp_path / "papers").iterdir()) == [
        "analysis",
        "changes",
        "collection.json",
        "shard",
    ]
    papers.close()
    with EdgeStore(tmp_path).open("papers") as again:
        assert [chunk.index for chunk in again.scan()] == list(range(2_000))
        assert_vector(again, 1_999, make_vectors(100, seed=1_900)[-1])


def test_an_index_is_not_built_twice(papers: EdgeCollection, stopped: list[int]) -> None:
    make_due(papers)
    until(lambda: stopped)
    os.kill(stopped[0], signal.SIGCONT)
    papers.optimize()
    built: list[None] = []
    papers.optimize(lambda: built.append(None))
    assert not built
    assert len(stopped) == 1


def test_a_cancelled_wait_ends(papers: EdgeCollection, stopped: list[int]) -> None:
    make_due(papers)
    until(lambda: stopped)
    papers.optimize(cancelled=lambda: True)
    assert papers._building.running


def test_a_killed_process_changes_nothing(
    papers: EdgeCollection, stopped: list[int], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_due(papers)
    until(lambda: stopped)
    os.kill(stopped[0], signal.SIGKILL)
    with pytest.raises(StoreUnavailable, match=r"Could not optimize collection 'papers'.*SIGKILL"):
        papers._building.wait()
    assert "index of collection 'papers' was not built" in caplog.text
    papers.upsert([make_chunk("new", index=200)], make_vectors(1))  # does not start the build again at once
    assert not papers._building.running
    assert papers.count().chunks == 201
    assert not (tmp_path / "papers/shard.part").exists()


def test_an_error_in_the_process_is_raised_here(papers: EdgeCollection, tmp_path: Path) -> None:
    damaged = tmp_path / "papers/shard/edge_config.json"
    content = damaged.read_bytes()
    damaged.write_text("{")
    make_due(papers)
    with pytest.raises(StoreUnavailable, match=r"Could not optimize collection 'papers' in .*: .*edge_config"):
        papers.optimize()
    damaged.write_bytes(content)
    assert papers.count().chunks == 200


def test_closing_gives_up_the_build(papers: EdgeCollection, stopped: list[int], tmp_path: Path) -> None:
    make_due(papers)
    until(lambda: stopped)
    papers.close()
    assert not psutil.pid_exists(stopped[0])
    assert not (tmp_path / "papers/shard.part").exists()
    with EdgeStore(tmp_path).open("papers") as again:
        assert again.count().chunks == 200
        assert again._changes.value == 200


def test_writes_meanwhile_survive_a_kill(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": f"{PROJECT}:{PROJECT / 'tests'}"},
    ) as writer:
        assert writer.stdout is not None
        optimizing = int(writer.stdout.readline())
        writer.kill()
        os.kill(optimizing, signal.SIGCONT)  # a stopped process does not end
    with EdgeStore(tmp_path).open("papers") as again:
        assert [chunk.index for chunk in again.scan()] == list(range(100))


@pytest.mark.parametrize("moved", [False, True])
def test_an_interrupted_replacement_is_completed(papers: EdgeCollection, tmp_path: Path, *, moved: bool) -> None:
    shard = tmp_path / "papers" / edge_shard.SHARD
    papers.close()
    with optimizer.OptimizedCopy(shard) as copy:
        copy.copy()
        copy.optimize()
        (shard.with_name("shard.part")).rename(shard.with_name("shard.new"))
    for file in (shard / "segments").rglob("*.json"):
        file.unlink()
    if moved:
        shard.rename(shard.with_name("shard.old"))
    with EdgeStore(tmp_path).open("papers") as again:
        assert again.count().chunks == 100
    assert sorted(file.name for file in shard.parent.iterdir()) == ["analysis", "changes", "collection.json", "shard"]


@pytest.mark.parametrize("name", ["shard.part", "shard.old"])
def test_an_incomplete_copy_or_a_replaced_shard_is_deleted(papers: EdgeCollection, tmp_path: Path, name: str) -> None:
    papers.close()
    unused = tmp_path / "papers" / name
    unused.mkdir()
    (unused / "file").write_text("half")
    with EdgeStore(tmp_path).open("papers") as again:
        assert again.count().chunks == 100
    assert not unused.exists()


def assert_vector(papers: EdgeCollection, index: int, expected: Vectors) -> None:
    found = papers.vectors([CHUNKS[index].id])[CHUNKS[index].id]
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected), rtol=1e-5)


# Writes while a process optimizes, which it stops; then waits to be killed.
WRITER = """
import sys
from pathlib import Path
from support.chunks import SPEC, make_chunk, make_vectors
from support.optimizing import stopped_optimizers
from support.waiting import until
from vectorstore.edge import collection as edge_collection
from vectorstore.edge.store import EdgeStore

edge_collection.INDEX_AFTER = 50 * 4 * SPEC.dimension
chunks = [make_chunk(f"passage {number}", index=number) for number in range(100)]
papers = EdgeStore(Path(sys.argv[1])).create(SPEC)
with stopped_optimizers() as stopped:
    papers.upsert(chunks[:50], make_vectors(50))
    until(lambda: stopped)
    papers.upsert(chunks[50:], make_vectors(50))
    print(stopped[0], flush=True)
    sys.stdin.read()
"""
