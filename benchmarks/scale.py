"""Measure what the embedded store costs at growing sizes, without embedding.

    python -m benchmarks.scale --folder FOLDER --sizes 1000 10000 100000
    python -m benchmarks.scale --folder FOLDER --sizes 100000 --quantized
    python -m benchmarks.scale --folder FOLDER --plot scale.svg

One collection grows from size to size in batches of an ingest. Its index is built in the background, as in the product.
At each size a new process opens the collection and searches it. FOLDER keeps the collection and the results, so an
interrupted run continues, and a later run adds larger sizes.

Texts follow Zipf's law and have about 1,000 characters. Vectors have 384 dimensions and the structure of embeddings:
clusters in a space of 32 dimensions, with noise. Each query takes 8 words of a chunk and a vector near the chunk's.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psutil
import qdrant_edge as qdrant
from rich.console import Console
from rich.table import Table

from benchmarks.search import DIMENSION, LIMIT, WARM_UP, random_chunk, random_texts, summary, time_call
from vectorstore.edge.collection import EdgeCollection
from vectorstore.edge.disk import used_space
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.model_folder import BUNDLE_LANGUAGES
from vectorstore.models import Chunk, ChunkFilter, CollectionSpec, SearchMode
from vectorstore.qdrant_schema import DENSE
from vectorstore.retrieval import Retriever
from vectorstore.store import Query, Vectors

SPEC = CollectionSpec(name="benchmark", embedding_model="none", dimension=DIMENSION, chunking="none")
SIZES = (1_000, 10_000, 100_000)
BATCH = 256  # chunks per call; the default of an ingest
QUERIES = 200
TEXTS = 5_000
LATENT, CLUSTERS = 32, 1_000

Batch = tuple[list[Chunk], Vectors]
CASES = {
    "hybrid": (SearchMode.HYBRID, ChunkFilter()),
    "hybrid, a folder of ten": (SearchMode.HYBRID, ChunkFilter(folder="/documents/3")),
    "hybrid, a document": (SearchMode.HYBRID, ChunkFilter(documents=("document 7",))),
    "meaning": (SearchMode.MEANING, ChunkFilter()),
    "words": (SearchMode.WORDS, ChunkFilter()),
}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--folder", type=Path, required=True)
    options.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    options.add_argument("--quantized", action="store_true", help="int8 vectors beside the original ones")
    options.add_argument("--plot", type=Path, help="draw the results to this file")
    options.add_argument("--open", type=int, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.open:
        print(json.dumps(measure_opened(chosen.folder, chosen.open)))
        return
    if chosen.quantized:
        int8 = qdrant.ScalarQuantizationConfig(type=qdrant.ScalarType.Int8, always_ram=True)
        qdrant.EdgeConfig = partial(qdrant.EdgeConfig, quantization_config=int8)  # type: ignore[misc,assignment]
    folder = chosen.folder / ("int8" if chosen.quantized else "float32")
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / "results.jsonl"
    results = [json.loads(line) for line in kept.read_text().splitlines()] if kept.exists() else []
    for size in sorted(set(chosen.sizes) - {each["size"] for each in results}):
        result = {"size": size} | grow(folder, size) | in_new_process(folder, size)
        with kept.open("a") as file:
            file.write(json.dumps(result) + "\n")
        results.append(result)
        print(json.dumps(result), flush=True)
    results.sort(key=lambda each: each["size"])
    report(results)
    if chosen.plot:
        plot(results, chosen.plot)


def grow(folder: Path, size: int) -> dict[str, Any]:
    """Write chunks until the collection has ``size``, then search and write while the index is built."""
    with EdgeStore(folder).create(SPEC) as collection:
        begun = collection.count().chunks // BATCH * BATCH
        written, seconds, used = 0, [], 0.0
        for chunks, vectors in batches(begun, size):
            before, written = time.process_time(), written + len(chunks)
            seconds.append(time_call(partial(collection.upsert, chunks, vectors)))
            used += time.process_time() - before
        built = while_indexing(collection, size)
    rates = {"upserts/s": written / sum(seconds), "upserts/s of CPU": written / used} if written else {}
    return rates | built | {"disk": used_space(folder / SPEC.name)}


def while_indexing(collection: EdgeCollection, size: int) -> dict[str, Any]:
    """Build the index. Return its seconds, and those of searches and of writes of one chunk meanwhile."""
    queries = iter(random_queries(size, 100_000))
    [(chunks, vectors)] = batches(0, 1)
    searches, writes = [], []
    begin = time.perf_counter()
    collection._building.start()
    while collection._building.running:
        text, vector = next(queries)
        searches.append(time_call(partial(search, collection, "hybrid", text, vector)))
        if len(searches) % 10 == 0:
            writes.append(time_call(partial(collection.upsert, chunks, vectors)))
        time.sleep(0.01)  # a search of a person or a run comes now and then
    collection._building.wait()
    built = {"build": time.perf_counter() - begin, "searches": len(searches)}
    return built | {
        "search meanwhile": [*summary(searches), max(searches) * 1e3],
        "write meanwhile": max(writes or [0]),
    }


def in_new_process(folder: Path, size: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.scale", "--folder", str(folder), "--open", str(size)]
    found: dict[str, Any] = json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout)
    return found


def measure_opened(folder: Path, size: int) -> dict[str, Any]:
    """Open the collection and search it. Memory is what this adds to the process."""
    queries = random_queries(size, QUERIES + WARM_UP)
    process = psutil.Process()
    before = process.memory_info()
    begin = time.perf_counter()
    with EdgeStore(folder).open(SPEC.name) as collection:
        result: dict[str, Any] = {"open": time.perf_counter() - begin}
        for case in CASES:
            times = [time_call(partial(search, collection, case, *query)) for query in queries]
            result[case] = summary(times[WARM_UP:])
        after = process.memory_info()
        result["memory"] = after.rss - before.rss
        result["memory of its own"] = (after.rss - after.shared) - (before.rss - before.shared)
        result["recall@10"] = float(np.mean([recall(collection, vector) for _, vector in queries[:50]]))
    return result


def search(collection: EdgeCollection, case: str, text: str, vector: Vectors) -> object:
    mode, where = CASES[case]
    return Retriever(collection, _Embedded(vector)).search([text], LIMIT, where, mode)


@dataclass(frozen=True)
class _Embedded:
    """Returns a known vector: the time to embed a query does not depend on the size of the collection."""

    vector: Vectors
    languages: ClassVar = BUNDLE_LANGUAGES

    def embed_query(self, _: str) -> tuple[Vectors, None]:
        return self.vector, None


def recall(collection: EdgeCollection, vector: Vectors) -> float:
    """Return the share of the nearest ten chunks that a dense search finds."""
    nearest = qdrant.Query.Nearest(vector.tolist(), using=DENSE)
    exact = qdrant.QueryRequest(limit=LIMIT, query=nearest, params=qdrant.SearchParams(exact=True))
    truth = {str(point.id) for point in collection._require_open().query(exact)}
    found = collection.search(SearchMode.MEANING, Query("", vector), limit=LIMIT)
    return len(truth & {hit.chunk.id for hit in found}) / len(truth)


def batches(start: int, end: int) -> Iterator[Batch]:
    """Yield the chunks from ``start``, a multiple of BATCH, to ``end``. They are the same in every run."""
    texts = _texts()
    for first in range(start, end, BATCH):
        rng = np.random.default_rng(first)
        halves = rng.integers(len(texts), size=(BATCH, 2))
        made = [f"{texts[a][: len(texts[a]) // 2]} {texts[b][len(texts[b]) // 2 :]}" for a, b in halves]
        vectors, count = _vectors(rng), min(BATCH, end - first)
        yield [random_chunk(first + number, made[number]) for number in range(count)], vectors[:count]


@cache
def _texts() -> list[str]:
    return random_texts(np.random.default_rng(0), TEXTS)


def _vectors(rng: np.random.Generator) -> Vectors:
    fixed = np.random.default_rng(1)
    centres, space = fixed.normal(size=(CLUSTERS, LATENT)), fixed.normal(size=(LATENT, DIMENSION)) / LATENT**0.5
    latent = centres[rng.integers(CLUSTERS, size=BATCH)] + 0.7 * rng.normal(size=(BATCH, LATENT))
    vectors = latent @ space + 0.05 * rng.normal(size=(BATCH, DIMENSION))
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def random_queries(size: int, count: int) -> Sequence[tuple[str, Vectors]]:
    """Return queries for chunks of some batches of a collection."""
    rng = np.random.default_rng(size)
    [*some] = (batch for first in _starts(rng, size) for batch in batches(first, min(first + BATCH, size)))
    chunks = [chunk for batch, _ in some for chunk in batch]
    vectors = np.concatenate([rows for _, rows in some])
    targets = rng.integers(len(chunks), size=min(count, 20_000))
    noise = rng.normal(scale=0.005, size=(len(targets), DIMENSION)).astype(np.float32)
    words = [" ".join(rng.choice(chunks[target].text.split(), size=8)) for target in targets]
    return list(zip(words, vectors[targets] + noise, strict=True))


def _starts(rng: np.random.Generator, size: int) -> list[int]:
    return [int(number) * BATCH for number in rng.integers(-(-size // BATCH), size=4)]


def report(results: Sequence[dict[str, Any]]) -> None:
    def pair(name: str) -> Callable[[dict[str, Any]], str]:
        return lambda each: " / ".join(f"{figure:.1f}" for figure in each[name])

    rows: dict[str, Callable[[dict[str, Any]], str]] = {
        "upserts a second": lambda each: f"{each.get('upserts/s', 0):,.0f}",
        "… a second of CPU time": lambda each: f"{each.get('upserts/s of CPU', 0):,.0f}",
        "open, s": lambda each: f"{each['open']:.2f}",
        **{f"{case}, median / p95, ms": pair(case) for case in CASES},
        "hybrid while indexing, median / p95 / max, ms": pair("search meanwhile"),
        "longest write while indexing, s": lambda each: f"{each['write meanwhile']:.1f}",
        "building the index, s": lambda each: f"{each['build']:.0f}",
        "recall@10 of dense": lambda each: f"{each['recall@10']:.3f}",
        "memory a passage, kB (of its own)": lambda each: (
            f"{each['memory'] / each['size'] / 1e3:.1f} ({each['memory of its own'] / each['size'] / 1e3:.1f})"
        ),
        "disk a passage, kB": lambda each: f"{each['disk'] / each['size'] / 1e3:.1f}",
    }
    table = Table("passages", *(f"{each['size']:,}" for each in results))
    for name, cell in rows.items():
        table.add_row(name, *map(cell, results))
    Console(width=140).print(table)


def plot(results: Sequence[dict[str, Any]], file: Path) -> None:
    """Draw cost against size: writing, searching, and memory and disk."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    sizes = [each["size"] for each in results]
    figure, (writing, searching, space) = pyplot.subplots(1, 3, figsize=(13, 4), layout="constrained")
    writing.plot(sizes, [1e6 / each["upserts/s of CPU"] for each in results], "o-", label="upsert, CPU time")
    writing.plot(sizes, [1e6 * each["build"] / each["size"] for each in results], "o-", label="index build")
    writing.set(title="Writing a passage", ylabel="µs")
    for case in CASES:
        [line] = searching.plot(sizes, [each[case][0] for each in results], "o-", label=case)
        searching.plot(sizes, [each[case][1] for each in results], ":", color=line.get_color())
    searching.set(title="Search: median, dotted: p95", ylabel="ms")
    space.plot(sizes, [each["disk"] / 1e6 for each in results], "o-", label="disk")
    space.plot(sizes, [each["memory"] / 1e6 for each in results], "o-", label="memory, with mapped files")
    space.plot(sizes, [each["memory of its own"] / 1e6 for each in results], "o-", label="memory without them")
    space.set(title="Memory and disk", ylabel="MB", yscale="log")
    for panel in (writing, searching, space):
        panel.set(xlabel="passages", xscale="log")
        panel.grid(alpha=0.3)
        panel.legend(fontsize="small")
    figure.savefig(file)


if __name__ == "__main__":
    main()
