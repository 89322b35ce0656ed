"""The one place that names concrete classes and puts them together. Heavy parts are made when first asked for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from pydantic import ValidationError

from api.errors import SettingsError, UsageError
from api.settings import Settings
from vectorstore.errors import CollectionMismatch

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from api.library import CollectionLibrary
    from ingest.ledger import Ledger
    from ingest.pipeline import IngestPipeline
    from multi_agent.llm.llm import LLM
    from multi_agent.orchestrator.orchestrator import Orchestrator
    from multi_agent.tracing.trace import Trace
    from vectorstore.embedding import Embedder
    from vectorstore.store import Collection, VectorStore


class Candor:
    """Candor, put together from its settings."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def engine(self) -> Engine:
        """The database: Postgres by URL, else SQLite in the home folder."""
        from api.database import open_database

        return open_database(self.settings)

    @cached_property
    def ledger(self) -> Ledger:
        """What became of every file."""
        from ingest.ledger import Ledger

        return Ledger(self.engine)

    @cached_property
    def trace(self) -> Trace:
        """What happened in every run."""
        from multi_agent.tracing.trace import Trace

        return Trace(self.engine)

    @cached_property
    def store(self) -> VectorStore:
        """Where collections live."""
        store = self.settings.store
        if store.url is None:
            from vectorstore.edge import EdgeStore

            return EdgeStore(self.settings.home / "collections")
        from vectorstore.server import ServerStore, connect

        return ServerStore(connect(store.url, store.api_key))

    @cached_property
    def embedder(self) -> Embedder:
        """The embedding model."""
        from vectorstore.embedding import make_embedder

        return make_embedder(self.settings.store.embedding)

    def collection_name(self, name: str | None) -> str:
        """The collection that is meant: the one named, or the only one there is. Raises UsageError."""
        if name:
            return name
        names = [spec.name for spec in self.store.list()]
        if len(names) == 1:
            return names[0]
        known = f"There are {', '.join(names)}: name one with --collection." if names else (
            "There is none yet: `candor ingest FOLDER` makes one.")  # fmt: skip
        raise UsageError(f"Which collection? {known}")

    @contextmanager
    def open_collection(self, name: str) -> Iterator[Collection]:
        """An existing collection that was embedded with the model in force. Raises StoreError."""
        with self.store.open(name) as collection:
            made_with, in_force = collection.spec.embedding_model, self.settings.store.embedding.model
            if made_with != in_force:
                raise CollectionMismatch(
                    f"Collection {name!r} was embedded with {made_with!r}, and the model in force is {in_force!r}. Set "
                    f"CANDOR_STORE__EMBEDDING__MODEL={made_with}, or rebuild it: `candor drop {name}`, then ingest."
                )
            yield collection

    @contextmanager
    def open_library(self, name: str) -> Iterator[CollectionLibrary]:
        """An existing collection, ready to be researched. Raises StoreError."""
        from api.library import CollectionLibrary
        from ingest.ledger import DocumentState
        from multi_agent.library import CatalogueEntry
        from vectorstore.retrieval import Retriever

        def catalogue() -> list[CatalogueEntry]:
            return [
                CatalogueEntry(name=document.name, id=document.id, title=document.title, chunks=document.chunks)
                for document in self.ledger.list(name, DocumentState.INDEXED)
            ]

        with self.open_collection(name) as collection:
            yield CollectionLibrary(name, catalogue, Retriever(collection, self.embedder))

    @contextmanager
    def open_pipeline(self, name: str) -> Iterator[IngestPipeline]:
        """What ingests into the collection, which is made if it is not there. Raises StoreError."""
        from ingest.chunking import Chunker
        from ingest.parser import load_parser
        from ingest.pipeline import IngestPipeline
        from vectorstore.models import CollectionSpec

        settings, embedder = self.settings.ingest, self.embedder
        parser = load_parser(settings.parser)
        chunker = Chunker(embedder.count_tokens, self._chunk_tokens(), settings.chunk_overlap)
        try:
            spec = CollectionSpec(
                name=name, embedding_model=embedder.model, dimension=embedder.dimension, chunking=chunker.fingerprint
            )
        except ValidationError as error:
            raise UsageError(
                f"{name!r} cannot name a collection: use letters, digits, '-' and '_', 63 at most."
            ) from error
        with self.store.create(spec) as collection:
            yield IngestPipeline(
                parser=parser,
                chunker=chunker,
                embedder=embedder,
                collection=collection,
                ledger=self.ledger,
                settings=settings,
            )

    def _chunk_tokens(self) -> int:
        most = self.embedder.max_tokens
        chosen = self.settings.ingest.chunk_tokens or most
        if chosen > most:
            raise SettingsError(
                f"ingest.chunk_tokens is {chosen}, but {self.embedder.model!r} reads only {most} tokens of a passage: "
                "lower it, or name another embedding model."
            )
        return chosen

    def drop(self, name: str) -> None:
        """Delete a collection and what is known of its documents; runs over it are kept."""
        self.store.drop(name)
        self.ledger.forget(name)

    def orchestrator(self, library: CollectionLibrary, llm: LLM | None = None) -> Orchestrator:
        """The panel over a library, asking ``llm``, or the model of the settings."""
        from multi_agent.llm.factory import build_llm
        from multi_agent.orchestrator.orchestrator import Orchestrator
        from multi_agent.registry import BUILT_IN, AgentRegistry

        research = self.settings.research
        registry = AgentRegistry.discover((BUILT_IN, *research.agent_packages))
        return Orchestrator(llm or build_llm(self.settings.llm), library, registry, self.trace, research)
