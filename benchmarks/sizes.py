"""Measure how much disk and memory a passage takes on a Qdrant server and in the SQL database.

    PYTHONPATH=tests python -m benchmarks.sizes                      # 5,000 and 20,000 chunks of 384 dimensions

``scale.py`` measures the embedded store. The server is measured at two sizes. Their difference leaves out what a
collection takes at any size, such as logs of 32 MB. The texts are random and about as long as full passages. The SQL
part is measured with the sample documents.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import psutil
import sqlalchemy as sql

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import Settings
from benchmarks.search import DIMENSION, clustered_vectors, random_chunk, random_texts
from support.qdrant import running_qdrant
from vectorstore.models import Chunk, CollectionSpec
from vectorstore.qdrant_server.store import ServerStore, connect
from vectorstore.store import Vectors, VectorStore

SPEC = CollectionSpec(name="benchmark", embedding_model="none", dimension=DIMENSION, chunking="none")
SAMPLES = Path("sample_docs/documents")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--chunks", type=int, nargs=2, default=(5_000, 20_000))
    small, large = options.parse_args().chunks
    rng = np.random.default_rng(0)
    chunks = [random_chunk(number, text) for number, text in enumerate(random_texts(rng, large))]
    vectors = clustered_vectors(rng, large)
    print(f"characters a passage: {np.mean([len(chunk.text) for chunk in chunks]):,.0f}")
    measure_server(chunks, vectors, small)
    measure_sql()


def measure_server(chunks: list[Chunk], vectors: Vectors, small: int) -> None:
    """Print disk and memory of a passage on a server, once it has built its indexes."""
    disk, memory = [], []
    for count in (small, len(chunks)):
        with running_qdrant() as node:
            fill(ServerStore(connect(node.url, None)), chunks[:count], vectors[:count])
            wait_until_quiet(process := psutil.Process(node.pid))
            disk.append(size_of(node.folder))
            memory.append(process.memory_info().rss)
    show("server, disk", disk, small, len(chunks))
    show("server, memory", memory, small, len(chunks))


def fill(store: VectorStore, chunks: list[Chunk], vectors: Vectors) -> None:
    """Write all chunks and build the indexes."""
    with store.create(SPEC) as collection:
        for start in range(0, len(chunks), 1_000):
            collection.upsert(chunks[start : start + 1_000], vectors[start : start + 1_000])
        collection.optimize()


def wait_until_quiet(process: psutil.Process) -> None:
    """Wait until a process has used less than a tenth of a core for five seconds."""
    while True:
        before = sum(process.cpu_times()[:2])
        time.sleep(5)
        if sum(process.cpu_times()[:2]) - before < 0.5:
            return


def measure_sql() -> None:
    """Print the bytes of the tables of documents, for each passage of the sample documents."""
    with tempfile.TemporaryDirectory() as home:
        candor = Candor(Settings(home=Path(home)))
        run_ingest(candor, [SAMPLES], "samples", progress=False)
        with candor.store.open("samples") as collection:
            passages = collection.count().chunks
        tables = ("documents", "document_texts", "embedded_passages", "sqlite_autoindex_documents_1")
        with candor.engine.connect() as connection:
            query = sql.text("SELECT name, sum(pgsize) FROM dbstat GROUP BY name")
            sizes = {name: size for name, size in connection.execute(query) if name.startswith(tables)}
        print(f"SQL: {sum(sizes.values()) / passages:,.0f} bytes a passage ({passages} passages, {sizes})")


def show(name: str, sizes: list[int], small: int, large: int) -> None:
    """Print both sizes and the bytes per additional passage."""
    each = (sizes[1] - sizes[0]) / (large - small)
    print(f"{name}: {sizes[0] / 1e6:,.0f} MB, {sizes[1] / 1e6:,.0f} MB; {each:,.0f} bytes for one more passage")


def size_of(folder: Path) -> int:
    """Return the allocated bytes of all files in the folder."""
    return sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file())


if __name__ == "__main__":
    main()
