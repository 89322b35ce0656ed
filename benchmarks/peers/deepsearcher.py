"""deep-searcher in benchmarks/peers: its PDF loader, Milvus in a file, and `query`, with defaults.

`query` first lets the model choose an agent. ``deepsearcher-chain`` gets ChainOfRAG ("for concrete factual queries
and multi-hop questions", three rounds), ``deepsearcher-deep`` gets DeepSearch, which grades every passage. Both make
one call at a time and request no citations. The loader reads PDF, Markdown and plain text.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from deepsearcher import configuration, embedding
from deepsearcher.configuration import Configuration, init_config
from deepsearcher.embedding import SentenceTransformerEmbedding
from deepsearcher.offline_loading import load_from_local_files
from deepsearcher.online_query import query
from deepsearcher.utils import log

from benchmarks.peers.side import Ask, Ingested, Said, embedding_model, marks, run


class MiniLM(SentenceTransformerEmbedding):
    """Fixes two limits of the base class: it treats a single text as a batch, and supports no 384 dimensions."""

    dimension = 384

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self.embed_documents([text])[0]
        return vector


def ingest(folder: Path, store: Path, url: str) -> Ingested:
    """Load, split, embed and store."""
    _settle(store, url, "deepsearcher-chain")
    load_from_local_files(str(folder))
    collection = configuration.vector_db.default_collection
    kinds = configuration.file_loader.supported_file_types
    return {
        "files": sum(path.suffix.lstrip(".") in kinds for path in folder.iterdir()),
        "chunks": configuration.vector_db.client.get_collection_stats(collection)["row_count"],
    }


async def asking(store: Path, url: str, way: str, ask_all: Callable[[Ask], Awaitable[None]]) -> None:
    """Ask in a thread: `query` is synchronous and starts its own event loop."""
    _settle(store, url, way)

    async def ask(question: str) -> Said:
        answer, _, _ = await asyncio.to_thread(query, question)
        return {"answer": answer, "citations": len(marks(answer)), "quotes": 0, "invented": 0}

    await ask_all(ask)


def _settle(store: Path, url: str, model: str) -> None:
    log.set_level(logging.WARNING)  # the default level prints every vector
    embedding.MiniLM = MiniLM  # the configuration looks here
    settings = Configuration()
    settings.set_provider_config("llm", "OpenAI", {"model": model, "base_url": url, "api_key": "none"})
    settings.set_provider_config("embedding", "MiniLM", {"model": embedding_model()})
    settings.set_provider_config("vector_db", "Milvus", {"uri": str(store / "milvus.db")})
    init_config(settings)


if __name__ == "__main__":
    run(["deepsearcher", "pymilvus", "milvus-lite"], ingest, asking)
