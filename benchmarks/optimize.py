"""Measure how long other threads wait while a process optimizes an embedded collection.

    python -m benchmarks.optimize                      # 20,000 chunks of 384 dimensions

A thread sleeps for 10 ms again and again, as the event loop of the service does between requests. Another one searches.
"""

from __future__ import annotations

import argparse
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.search import DIMENSION, random_chunk, random_texts, time_call
from vectorstore.edge import EdgeStore
from vectorstore.models import CollectionSpec, SearchMode

TICK_S = 0.01


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--chunks", type=int, default=20_000)
    count = options.parse_args().chunks
    rng = np.random.default_rng(0)
    vectors = rng.normal(size=(count, DIMENSION)).astype(np.float32)
    texts = random_texts(rng, count)
    spec = CollectionSpec(name="benchmark", embedding_model="none", dimension=DIMENSION, chunking="none")
    with tempfile.TemporaryDirectory() as folder, EdgeStore(Path(folder)).create(spec) as collection:
        collection.upsert([random_chunk(number, text) for number, text in enumerate(texts)], vectors)

        def search() -> None:
            collection.search(SearchMode.HYBRID, text=texts[0], vector=vectors[0], limit=10)

        searches, ticks = Repeated(search), Repeated(lambda: None)
        seconds = time_call(collection.optimize)
        slowest, latest = searches.stop(), ticks.stop()
    print(f"optimized {count:,} chunks in {seconds:.1f} s")
    print(f"{len(ticks.times):,} ticks, longest delay {latest * 1e3:,.0f} ms")
    print(f"{len(searches.times):,} searches, longest delay {slowest * 1e3:,.0f} ms")


class Repeated:
    """Calls ``work`` in a thread every 10 ms. Records the delay and the duration of each call in seconds."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.times: list[float] = []
        self._ended = threading.Event()
        self._work = work
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        """Return the longest time."""
        self._ended.set()
        self._thread.join()
        return max(self.times)

    def _run(self) -> None:
        begin = time.perf_counter()
        while not self._ended.is_set():
            time.sleep(TICK_S)
            self._work()
            end = time.perf_counter()
            self.times.append(end - begin - TICK_S)
            begin = end


if __name__ == "__main__":
    main()
