"""The embedded vector store: Qdrant Edge in this process, with one folder per collection.

FOLDER/papers/collection.json   the specification; written last, so without it the collection is incomplete
FOLDER/papers/shard/            Qdrant's segments and write-ahead log; see optimizer.py for its copies
FOLDER/papers/analysis          the version of the analysis of its words (text/bm25.py)
FOLDER/papers/changes           the number of chunks that changed since the index was built
FOLDER/papers.lock, .owner      see lock.py
"""

import shutil
from contextlib import ExitStack
from pathlib import Path

from vectorstore.edge.collection import EdgeCollection
from vectorstore.edge.disk import (
    ANALYSIS_FILE,
    SPEC,
    check_space,
    collections_in,
    disk_errors,
    list_one,
    read_analysis,
    read_spec,
    write_text,
)
from vectorstore.edge.lock import CollectionLock
from vectorstore.edge.shard import create_shard, load_shard
from vectorstore.models import CollectionSpec, UnreadableCollection
from vectorstore.qdrant_schema import require_same_spec
from vectorstore.store import VectorStore, require_spec
from vectorstore.text.bm25 import ANALYSIS

RESERVE = 256 * 2**20  # the engine maps files of 32 MiB: on a full disk the process would die by SIGBUS


class EdgeStore(VectorStore):
    """Collections in a local folder. Writes fail when less than ``reserve`` bytes of disk space are free.

    Set ``serving`` in a process that keeps collections open. It completes index builds that other processes aborted.
    """

    def __init__(self, folder: Path, *, reserve: int = RESERVE, serving: bool = False) -> None:
        self._folder = folder
        self._reserve = reserve
        self._serving = serving

    def create(self, spec: CollectionSpec) -> EdgeCollection:
        path = self._folder / spec.name
        with disk_errors(path), ExitStack() as undo:
            self._folder.mkdir(parents=True, exist_ok=True)
            lock = CollectionLock(path)
            undo.callback(lock.release)
            check_space(self._folder, self._reserve, f"collection {path.name!r}")
            if (path / SPEC).exists():
                require_same_spec(read_spec(path), spec)
                shard = load_shard(path)
            else:
                shard = create_shard(path, spec)
                write_text(path / ANALYSIS_FILE, ANALYSIS)
                write_text(path / SPEC, spec.model_dump_json(indent=2))
            undo.callback(shard.close)
            collection = EdgeCollection(spec, path, shard, lock, self._reserve)
            if read_analysis(path) != ANALYSIS:
                collection.index_words()
                write_text(path / ANALYSIS_FILE, ANALYSIS)
            undo.pop_all()
        if self._serving:
            collection.index_in_background()
        return collection

    def require_writable(self) -> None:
        """Raise StoreUnavailable if the disk has too little space for writes."""
        if self._folder.exists():
            with disk_errors(self._folder):
                check_space(self._folder, self._reserve)

    def find(self, name: str) -> CollectionSpec | None:
        return next((read_spec(path) for path in collections_in(self._folder) if path.name == name), None)

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        return [list_one(path) for path in collections_in(self._folder)]

    def drop(self, name: str) -> None:
        path = self._folder / require_spec(self, name).name
        with disk_errors(path), ExitStack() as undo:
            lock = CollectionLock(path)
            undo.callback(lock.release)
            (path / SPEC).unlink()  # first, so that an interrupted drop leaves an incomplete collection
            shutil.rmtree(path)
