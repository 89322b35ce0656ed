"""The embedded store: its files, its lock, a killed process and a full disk."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import qdrant_edge as qdrant

from support.chunks import SPEC, make_chunk, make_vectors
from vectorstore.edge.store import EdgeStore
from vectorstore.errors import CollectionClosed, CollectionLocked, StoreUnavailable
from vectorstore.models import ChunkFilter, SearchMode
from vectorstore.store import Query

PROJECT = Path(__file__).parents[3]
BATCH = 100

# Writes batch after batch, and prints the number of chunks after each one.
WRITER = f"""
import sys
from pathlib import Path
from support.chunks import SPEC, make_chunk, make_vectors
from vectorstore.edge.store import EdgeStore

collection = EdgeStore(Path(sys.argv[1])).create(SPEC)
written = 0
while True:
    chunks = [make_chunk(f"heat pump {{i}} " * 20, index=i) for i in range(written, written + {BATCH})]
    collection.upsert(chunks, make_vectors({BATCH}, seed=written))
    written += {BATCH}
    print(written, flush=True)
"""


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that has the collection open and keeps writing."""
    process = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)],
        stdout=subprocess.PIPE,
        text=True,
        env={"PYTHONPATH": f"{PROJECT}:{PROJECT / 'tests'}"},
    )
    yield process
    process.kill()
    process.wait()
    if process.stdout is not None:
        process.stdout.close()


def acknowledged(writer: subprocess.Popen[str], batches: int) -> int:
    """Wait for some batches, kill the process, and return how many chunks it had acknowledged."""
    assert writer.stdout is not None
    counts = [int(writer.stdout.readline()) for _ in range(batches)]
    writer.kill()
    return max(counts + [int(line) for line in writer.stdout.read().split()])


class TestOneProcessAtATime:
    def test_a_second_process_gets_the_owner(self, tmp_path: Path, writer: subprocess.Popen[str]) -> None:
        assert writer.stdout is not None
        writer.stdout.readline()
        store = EdgeStore(tmp_path)
        for attempt in (lambda: store.open("papers"), lambda: store.create(SPEC), lambda: store.drop("papers")):
            with pytest.raises(CollectionLocked, match=f"process {writer.pid}.*`-c .*Wait for that process or end it"):
                attempt()

    def test_a_rejected_process_does_not_disturb_the_owner(self, tmp_path: Path, writer: subprocess.Popen[str]) -> None:
        assert writer.stdout is not None
        writer.stdout.readline()
        for _ in range(3):
            with pytest.raises(CollectionLocked):
                EdgeStore(tmp_path).open("papers")
            assert int(writer.stdout.readline()) > 0

    def test_listing_needs_no_lock(self, tmp_path: Path, writer: subprocess.Popen[str]) -> None:
        assert writer.stdout is not None
        writer.stdout.readline()
        assert EdgeStore(tmp_path).list() == [SPEC]

    def test_the_lock_of_a_dead_process_is_free(self, tmp_path: Path, writer: subprocess.Popen[str]) -> None:
        acknowledged(writer, 1)
        EdgeStore(tmp_path).open("papers").close()

    def test_one_process_cannot_open_it_twice(self, tmp_path: Path) -> None:
        store = EdgeStore(tmp_path)
        with store.create(SPEC), pytest.raises(CollectionLocked, match=r"\(this process\)"):
            store.open("papers")
        store.open("papers").close()

    def test_another_thread_may_close_it(self, tmp_path: Path) -> None:
        store = EdgeStore(tmp_path)
        thread = threading.Thread(target=store.create(SPEC).close)
        thread.start()
        thread.join()
        store.open("papers").close()

    def test_other_collections_are_not_locked(self, tmp_path: Path) -> None:
        store = EdgeStore(tmp_path)
        with store.create(SPEC), store.create(SPEC.model_copy(update={"name": "others"})) as others:
            assert others.count().chunks == 0

    def test_a_failed_create_releases_the_lock(self, tmp_path: Path) -> None:
        store = EdgeStore(tmp_path)
        store.create(SPEC).close()
        with pytest.raises(Exception, match="dimension"):
            store.create(SPEC.model_copy(update={"dimension": 9}))
        store.open("papers").close()


class TestFailures:
    @pytest.mark.parametrize("batches", [1, 4, 9])
    def test_acknowledged_chunks_survive_a_kill(
        self, tmp_path: Path, writer: subprocess.Popen[str], batches: int
    ) -> None:
        written = acknowledged(writer, batches)
        with EdgeStore(tmp_path).open("papers") as collection:
            kept = list(collection.scan())
            assert [chunk.index for chunk in kept][:written] == list(range(written))
            last = make_vectors(BATCH, seed=written - BATCH)[-1]
            [hit] = collection.search(SearchMode.MEANING, Query("", last), limit=1)
            assert hit.chunk.index == written - 1
            collection.upsert([make_chunk("it can be written again", document="/docs/b.md")], make_vectors(1))
            assert collection.count().chunks == len(kept) + 1

    def test_payloads_of_earlier_versions_are_read(self, tmp_path: Path) -> None:
        chunk = make_chunk("heat pump")
        with EdgeStore(tmp_path).create(SPEC) as collection:
            collection.upsert([chunk], make_vectors(1))
            payload = chunk.model_dump(mode="json", exclude={"origin"}) | {"folders": [], "terms": [], "language": "en"}
            old = qdrant.Point(chunk.id, {"dense": [0.1] * SPEC.dimension}, payload)
            collection._require_open().update(qdrant.UpdateOperation.upsert_points([old]))
            assert list(collection.scan()) == [chunk]

    def test_acknowledged_chunks_survive_a_power_cut(self, tmp_path: Path) -> None:
        """After a power cut, the segments may be as of the last flush. The log is as of the last upsert."""
        shard, copy = tmp_path / "papers" / "shard", tmp_path / "copy"
        with EdgeStore(tmp_path).create(SPEC) as collection:
            collection.upsert([make_chunk(f"{i}", index=i) for i in range(10)], make_vectors(10))
            collection._flush()
            shutil.copytree(shard, copy)
            collection.upsert([make_chunk(f"{i}", index=i) for i in range(10, 30)], make_vectors(20))
            collection.delete(ChunkFilter(positions=(0, 4)))
            shutil.rmtree(copy / "wal")
            shutil.copytree(shard / "wal", copy / "wal")
        shutil.rmtree(shard)
        copy.rename(shard)
        with EdgeStore(tmp_path).open("papers") as collection:
            assert [chunk.index for chunk in collection.scan()] == list(range(5, 30))

    def test_each_upsert_writes_the_log_to_the_disk(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        synced: list[str] = []
        monkeypatch.setattr(os, "fsync", lambda number: synced.append(os.readlink(f"/proc/self/fd/{number}")))
        with EdgeStore(tmp_path).create(SPEC) as collection:
            synced.clear()
            collection.upsert([make_chunk("text")], make_vectors(1))
            log = tmp_path / "papers/shard/wal"
            assert set(synced) == {str(log), *map(str, log.iterdir())}

    def test_an_incomplete_collection_does_not_exist(self, tmp_path: Path) -> None:
        store = EdgeStore(tmp_path)
        store.create(SPEC).close()
        (tmp_path / "papers" / "collection.json").unlink()
        assert store.list() == []
        with store.create(SPEC.model_copy(update={"dimension": 3})) as collection:
            assert collection.count().chunks == 0

    def test_a_full_disk_rejects_writes_and_keeps_data(self, tmp_path: Path) -> None:
        chunk = make_chunk("stored before")
        with EdgeStore(tmp_path).create(SPEC) as collection:
            collection.upsert([chunk], make_vectors(1))
        more_than_available = shutil.disk_usage(tmp_path).total
        full = EdgeStore(tmp_path, reserve=more_than_available)
        with pytest.raises(StoreUnavailable, match=r"MiB free.*Free some space"):
            full.open("papers")
        with EdgeStore(tmp_path).open("papers") as collection:
            collection._reserve = more_than_available  # as if the disk had filled up
            for write in (
                lambda: collection.upsert([make_chunk("new", index=1)], make_vectors(1)),
                collection._build_index,
            ):
                with pytest.raises(StoreUnavailable, match="Stored data is kept"):
                    write()
            assert list(collection.scan()) == [chunk]

    def test_a_file_instead_of_the_folder_raises(self, tmp_path: Path) -> None:
        file = tmp_path / "file"
        file.write_text("")
        with pytest.raises(StoreUnavailable, match="file"):
            EdgeStore(file).list()
        with pytest.raises(StoreUnavailable, match="file"):
            EdgeStore(file / "below").create(SPEC)

    def test_a_damaged_specification_is_named(self, tmp_path: Path) -> None:
        EdgeStore(tmp_path).create(SPEC).close()
        (tmp_path / "papers" / "collection.json").write_text("{")
        with pytest.raises(StoreUnavailable, match=r"papers/collection\.json"):
            EdgeStore(tmp_path).open("papers")

    def test_a_damaged_shard_is_named(self, tmp_path: Path) -> None:
        EdgeStore(tmp_path).create(SPEC).close()
        for file in (tmp_path / "papers" / "shard").rglob("segment.json"):
            file.write_text("{")
        with pytest.raises(StoreUnavailable, match="Could not load collection 'papers'"):
            EdgeStore(tmp_path).open("papers")

    def test_a_closed_collection_raises(self, tmp_path: Path) -> None:
        collection = EdgeStore(tmp_path).create(SPEC)
        collection.close()
        with pytest.raises(CollectionClosed, match="'papers' is closed"):
            collection.count()
