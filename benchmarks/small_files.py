"""Measure the ingest of many small files against the floor: their passages embedded in one call.

    python -m benchmarks.small_files [--files 1000 10000] [--emails] [--no-embedding]

Writes files of one paragraph, or e-mails with --emails, and prints for each number of files:
(a) `candor ingest` of all files into an empty collection, as a separate process;
(b) the same command again: no file has changed;
(c) the floor: the passages of (a), embedded in one call of the same embedding model.

--no-embedding uses random vectors instead, and leaves (c) out: it shows how the rest grows. On a busy machine, compare
CPU seconds. Memory is the proportional set size of all processes (Linux only).
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from api.bootstrap import Candor
from api.settings import Settings
from benchmarks.ingest import COLLECTION, Spent, measure
from ingest.pipeline.plan import IngestRequest
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Vectors

_SIZES = (1_000, 10_000)
_PER_FOLDER = 1_000
_TEXTS = Path(__file__).parents[1] / "docs"


class RandomVectors:
    """The configured embedding model, except that passages get random vectors."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._random = np.random.default_rng(0)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        vectors = self._random.normal(size=(len(texts), self._embedder.dimension)).astype(np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, nargs="+", default=_SIZES)
    options.add_argument("--emails", action="store_true", help="write e-mails instead of text files")
    options.add_argument("--no-embedding", action="store_true", help="use random vectors")
    chosen = options.parse_args()
    table = Table("files", "ingest", "seconds", "CPU seconds", "of the floor", "files/s", "tokens/s", "peak")
    for number in chosen.files:
        with tempfile.TemporaryDirectory(prefix="candor-small-") as scratch:
            folder, home = Path(scratch, "files"), Path(scratch, "home")
            write_files(folder, number, emails=chosen.emails)
            _measure(table, number, folder, home, "random" if chosen.no_embedding else "model")
    Console(width=130, highlight=False).print(table)


def write_files(folder: Path, number: int, *, emails: bool = False) -> None:
    """Write files of one paragraph of about 75 words. The same call writes the same files."""
    chance = random.Random(0)
    words = sorted({word for path in _TEXTS.glob("*.md") for word in path.read_text("utf-8").split() if word.isalpha()})
    for each in range(number):
        sentences = [" ".join(chance.choices(words, k=15)).capitalize() + "." for _ in range(5)]
        head = f"From: a{each}@example.com\nTo: b@example.com\nSubject: {sentences[0]}\n\n" if emails else ""
        path = folder / f"{each // _PER_FOLDER:03d}" / f"note-{each:06d}.{'eml' if emails else 'txt'}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{head}{' '.join(sentences)}\n", "utf-8")


def _measure(table: Table, number: int, folder: Path, home: Path, vectors: str) -> None:
    def run(task: str) -> Spent:
        return measure([sys.executable, "-m", "benchmarks.small_files", task, folder, home, vectors])

    first, again = run("ingest"), run("ingest")
    floor = json.loads(run("floor").output) if vectors == "model" else None
    tokens = json.loads(first.output)["tokens"]
    for name, spent in (("new", first), ("unchanged", again)):
        report = json.loads(spent.output)
        assert report["indexed" if name == "new" else "unchanged"] == number, report
        ratio = f"{spent.cpu_seconds / floor['cpu_seconds']:.2f}" if floor and name == "new" else ""
        rates = [f"{number / spent.seconds:,.0f}", f"{tokens / spent.seconds:,.0f}" if name == "new" else ""]
        table.add_row(
            f"{number:,}",
            name,
            f"{spent.seconds:.1f}",
            f"{spent.cpu_seconds:.1f}",
            ratio,
            *rates,
            f"{spent.peak_mb:.0f} MB",
        )
        print(name, report["stage_seconds"], flush=True)
    if floor:
        rates = [f"{number / floor['seconds']:,.0f}", f"{tokens / floor['seconds']:,.0f}"]
        table.add_row("", "floor", f"{floor['seconds']:.1f}", f"{floor['cpu_seconds']:.1f}", "1.00", *rates, "")


def ingest(folder: Path, home: Path, vectors: str) -> None:
    """Ingest the folder and print the report as JSON."""
    candor = Candor(Settings(home=home))
    if vectors == "random":
        candor.embedder = RandomVectors(candor.embedder)
    report = candor.ingest.ingest(IngestRequest(collection=COLLECTION, paths=(folder,)))
    print(json.dumps(report.model_dump(mode="json")))


def floor(folder: Path, home: Path, vectors: str) -> None:
    """Embed the passages of the collection in one call and print the seconds as JSON."""
    candor = Candor(Settings(home=home))
    with candor.store.open(COLLECTION) as collection:
        texts = [chunk.embedded_text for chunk in collection.scan()]
    candor.embedder.embed_passages(texts[:1])  # load the model
    started, used = time.perf_counter(), time.process_time()
    candor.embedder.embed_passages(texts)
    print(json.dumps({"seconds": time.perf_counter() - started, "cpu_seconds": time.process_time() - used}))


if __name__ == "__main__":
    if sys.argv[1:2] in (["ingest"], ["floor"]):
        globals()[sys.argv[1]](Path(sys.argv[2]), Path(sys.argv[3]), sys.argv[4])
    else:
        main()
