"""deep-searcher's side of benchmarks/peers: its PDF loader, Milvus in a file, and `query`, as they are by default.

`query` lets the model choose an agent first: ``deepsearcher-chain`` is answered with the one "for concrete factual
queries and multi-hop questions" (ChainOfRAG, three rounds), ``deepsearcher-deep`` with the other (DeepSearch, which
has every passage judged). Both call the model once at a time, and neither asks it for citations. The loader reads PDF,
Markdown and plain text.
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
    """Its own class takes a single text for a batch, and knows no model of 384 dimensions."""

    dimension = 384

    def embed_query(self, text: str) -> list[float]:
        vector: list[float] = self.embed_documents([text])[0]
        return vector


def ingest(folder: Path, store: Path, url: str) -> Ingested:
    """Load, split, embed, store."""
    _settle(store, url, "deepsearcher-chain")
    load_from_local_files(str(folder))
    collection = configuration.vector_db.default_collection
    kinds = configuration.file_loader.supported_file_types
    return {
        "files": sum(path.suffix.lstrip(".") in kinds for path in folder.iterdir()),
        "chunks": configuration.vector_db.client.get_collection_stats(collection)["row_count"],
    }


async def asking(store: Path, url: str, way: str, ask_all: Callable[[Ask], Awaitable[None]]) -> None:
    """In a thread: it is synchronous and begins a loop of its own."""
    _settle(store, url, way)

    async def ask(question: str) -> Said:
        answer, _, _ = await asyncio.to_thread(query, question)
        return {"answer": answer, "citations": len(marks(answer)), "quotes": 0, "invented": 0}

    await ask_all(ask)


def _settle(store: Path, url: str, model: str) -> None:
    log.set_level(logging.WARNING)  # it would print every vector
    embedding.MiniLM = MiniLM  # where the configuration looks for it
    settings = Configuration()
    settings.set_provider_config("llm", "OpenAI", {"model": model, "base_url": url, "api_key": "none"})
    settings.set_provider_config("embedding", "MiniLM", {"model": embedding_model()})
    settings.set_provider_config("vector_db", "Milvus", {"uri": str(store / "milvus.db")})
    init_config(settings)


if __name__ == "__main__":
    run(["deepsearcher", "pymilvus", "milvus-lite"], ingest, asking)
