"""Ingests in a process that can be killed: ``python killable_ingest.py``, controlled over standard input.

PyTorch takes seconds to import, so this process imports it once and forks for every ingest, with all models loaded.
Nothing that starts threads is used before the fork. A line of JSON requests an ingest, another reports its result.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from ingest.chunking.chunker import Chunker
from ingest.isolation.isolated_parser import IsolatedParser
from ingest.ledger.ledger import Ledger
from ingest.pipeline.pipeline import IngestPipeline
from ingest.pipeline.plan import IngestRequest
from ingest.settings import IngestSettings
from support.database import make_engine
from support.waiting import LIMIT_S
from support.workplace import ingest_with
from vectorstore.edge.store import EdgeStore
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.models import CollectionSpec
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Vectors
from vectorstore.text.languages import detect

NAME = "papers"
WORKERS = 2


class LoggingEmbedder:
    """An embedder that writes the embedded texts to a file."""

    def __init__(self, embedder: Embedder, notes: Path) -> None:
        self._embedder = embedder
        self._notes = notes
        self.model = embedder.model
        self.dimension = embedder.dimension
        self.max_tokens = embedder.max_tokens
        self.languages = embedder.languages

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        with self._notes.open("a") as notes:
            notes.writelines(json.dumps(text) + "\n" for text in texts)
        return self._embedder.embed_passages(texts)

    def embed_query(self, text: str) -> tuple[Vectors, Vectors | None]:
        return self._embedder.embed_query(text)

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        return self._embedder.count_tokens(texts)


def ingest(embedder: Embedder, home: Path, documents: Path) -> None:
    """Run one ingest like ``candor ingest --sync``, in small batches, so that a kill can interrupt many steps."""
    chunker = Chunker(embedder.count_tokens, 64)
    spec = CollectionSpec(
        name=NAME, embedding_model=embedder.model, dimension=embedder.dimension, chunking=chunker.fingerprint
    )
    ledger = Ledger(make_engine(home / "candor.sqlite"))
    parser = IsolatedParser("default", workers=WORKERS, timeout_s=LIMIT_S, memory_mb=2048)
    with parser, EdgeStore(home / "store", reserve=0).create(spec) as collection:
        pipeline = IngestPipeline(
            parser=parser,
            chunker=chunker,
            embedder=LoggingEmbedder(embedder, home / "embedded.jsonl"),
            collection=collection,
            ledger=ledger,
            settings=IngestSettings(embed_batch=4),
            parse_threads=WORKERS,
        )
        ingest_with(pipeline, ledger, IngestRequest(collection=NAME, paths=(documents,), sync=True))


def fork(embedder: Embedder, home: Path, documents: Path, kill_after: float | None) -> dict[str, object]:
    """Ingest in a child process, kill it after ``kill_after`` seconds, and return its exit code and seconds."""
    started = time.perf_counter()
    child = os.fork()
    if not child:
        code = 1
        try:
            ingest(embedder, home, documents)
            code = 0
        finally:
            if code:
                traceback.print_exc()
            os._exit(code)  # without the cleanup of the parent process
    while kill_after is not None and time.perf_counter() - started < kill_after:
        time.sleep(0.001)
    if kill_after is not None:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    return {"code": os.waitstatus_to_exitcode(status), "seconds": time.perf_counter() - started}


def main() -> None:
    import torch

    torch.set_num_threads(1)  # a pool of threads would not survive the fork
    embedder = make_embedder(EmbeddingSettings(precision="float32"))
    embedder.embed_passages([])  # loads the model, computes nothing
    detect("Loads the language detection model.")
    for line in sys.stdin:
        request = json.loads(line)
        outcome = fork(embedder, Path(request["home"]), Path(request["documents"]), request["kill_after"])
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
