"""The one place that names concrete classes and puts them together. Heavy parts are made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from api.errors import UsageError
from api.panel_parts import PanelParts
from api.settings import Settings
from vectorstore.errors import CollectionMismatch, CollectionNotFound

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from api.auth.audit import Audit
    from api.auth.keys import Keys
    from api.services.library import CollectionLibrary
    from api.storage.uploads import Uploads
    from ingest.ledger.aliases import CollectionAliases
    from ingest.ledger.ledger import Ledger
    from ingest.pages.renderer import PageRenderer
    from multi_agent.library import CatalogueEntry
    from multi_agent.memory.plans import PlanMemory
    from multi_agent.storage.trace import Trace
    from multi_agent.toolbox.toolbox import Toolbox
    from vectorstore.embedding.embedder import Embedder
    from vectorstore.models import CollectionSpec
    from vectorstore.store import Collection, VectorStore


class Candor(PanelParts):
    """Candor, put together from its settings; what only its panel is made of stands in ``panel_parts.py``."""

    def __init__(self, settings: Settings, *, separate_query_process: bool = False) -> None:
        self.settings = settings
        self._separate_query_process = separate_query_process

    @cached_property
    def engine(self) -> Engine:
        """The database: Postgres by URL, else SQLite in the home folder."""
        from api.storage.database import open_database

        return open_database(self.settings)

    @cached_property
    def ledger(self) -> Ledger:
        """What became of every file."""
        from ingest.ledger.ledger import Ledger

        return Ledger(self.engine)

    @cached_property
    def aliases(self) -> CollectionAliases:
        """Which stored collection each collection name refers to."""
        from ingest.ledger.aliases import CollectionAliases

        return CollectionAliases(self.engine)

    @cached_property
    def uploads(self) -> Uploads:
        """The files that were uploaded, each collection's in a folder of its own."""
        from api.storage.uploads import Uploads

        return Uploads(self.settings.home)

    @cached_property
    def pages(self) -> PageRenderer:
        """Pages of documents as pictures."""
        from ingest.pages.renderer import PageRenderer

        return PageRenderer()

    @cached_property
    def trace(self) -> Trace:
        """What happened in every run."""
        from multi_agent.storage.trace import Trace

        return Trace(self.engine)

    @cached_property
    def keys(self) -> Keys:
        """Who may come in, and what they may do."""
        from api.auth.keys import Keys

        return Keys(self.engine)

    @cached_property
    def audit(self) -> Audit:
        """Who did what over the service."""
        from api.auth.audit import Audit

        return Audit(self.engine)

    @cached_property
    def plans(self) -> PlanMemory:
        """Plans that were saved, or that worked."""
        from multi_agent.memory.plans import PlanMemory

        model = self.settings.store.embedding.model
        return PlanMemory(self.engine, self.embed_query, model)

    @cached_property
    def tools(self) -> Toolbox:
        """The tools that agents can be granted."""
        from multi_agent.storage.tool_calls import ToolCalls
        from multi_agent.toolbox.approvals import Approvals
        from multi_agent.toolbox.registry import BUILT_IN, ToolRegistry
        from multi_agent.toolbox.toolbox import Toolbox

        settings = self.settings.tools
        servers = (server.name for server in settings.mcp_servers)
        registry = ToolRegistry.discover((BUILT_IN, *settings.packages), settings.disabled, servers)
        sandboxes = self.settings.home / "sandbox"
        return Toolbox(registry, settings, sandboxes, Approvals(self.engine), ToolCalls(self.engine))

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
        from vectorstore.embedding.cached import CachedEmbedder
        from vectorstore.embedding.embedder import make_embedder

        settings = self.settings.store.embedding
        return CachedEmbedder(make_embedder(settings, separate_query_process=self._separate_query_process))

    def collections(self) -> list[CollectionSpec]:
        """The collections there are, each as searches see it."""
        live = self.aliases.live()
        return [spec for spec in self.store.list() if spec.name == live.get(spec.collection, spec.collection)]

    def collection_name(self, name: str | None, among: Set[str] | None = None) -> str:
        """The collection that is meant: the one named, or the only one (``among`` those). Raises UsageError."""
        if name:
            return name
        names = [each.collection for each in self.collections() if among is None or each.collection in among]
        if len(names) == 1:
            return names[0]
        known = f"There are {', '.join(names)}: name one, with --collection on the command line." if names else (
            "There is none yet: `candor ingest FOLDER` makes one.")  # fmt: skip
        raise UsageError(f"Which collection? {known}")

    @contextmanager
    def open_collection(self, name: str) -> Iterator[Collection]:
        """What is live of an existing collection, embedded with the model in force. Raises StoreError."""
        with self.store.open(self.place_of(name)) as collection:
            yield self.live(collection)

    def live(self, collection: Collection) -> Collection:
        """A collection as searches are to see it."""
        from ingest.ledger.versions import LiveCollection

        return LiveCollection(collection, self.ledger)

    def place_of(self, name: str) -> str:
        """Where in the store that lies which is searched. Raises CollectionNotFound, CollectionMismatch."""
        existing = self._existing(name)
        made_with, in_force = existing.embedding_model, self.settings.store.embedding.model
        if made_with != in_force:
            raise CollectionMismatch(
                f"Collection {name!r} was embedded with {made_with!r}, and the model in force is {in_force!r}. Set "
                f"CANDOR_STORE__EMBEDDING__MODEL={made_with} to search it as it is, or embed it anew with the model in "
                f"force: `candor ingest FOLDER --collection {name}`."
            )
        return existing.name

    @contextmanager
    def change_collection(self, name: str) -> Iterator[Collection]:
        """All that is stored of an existing collection, for nobody else to change. Raises StoreError, IngestError."""
        from ingest.ledger.lock import ingest_lock

        self._existing(name)
        with ingest_lock(self.engine, name), self.store.open(self.aliases.resolve(name)) as collection:
            yield collection

    def _existing(self, name: str) -> CollectionSpec:
        """The collection as it lies in the store. Raises CollectionNotFound."""
        known = {spec.collection: spec for spec in self.collections()}
        if name not in known:
            raise CollectionNotFound(name, list(known))
        return known[name]

    @contextmanager
    def open_library(self, name: str) -> Iterator[CollectionLibrary]:
        """An existing collection, ready to be researched. Raises StoreError."""
        with self.open_collection(name) as collection:
            yield self.library(name, collection)

    def library(self, name: str, collection: Collection) -> CollectionLibrary:
        """An open collection as the panel sees it. Raises EmbeddingModelError."""
        from api.services.library import CollectionLibrary
        from vectorstore.retrieval import Retriever

        return CollectionLibrary(name, lambda: self.catalogue(name), Retriever(collection, self.embedder))

    def catalogue(self, name: str) -> list[CatalogueEntry]:
        """The documents of a collection, as the panel sees them."""
        from multi_agent.library import CatalogueEntry

        return [
            CatalogueEntry(name=document.name, id=document.id, title=document.title, chunks=document.chunks)
            for document in self.ledger.list(name)
            if document.chunks  # also what is being replaced, or failed since: its last edition is searched
        ]

    def drop(self, name: str, release: Callable[[], None] = lambda: None) -> None:
        """Delete a collection, what is known of its documents, and what was uploaded into it; runs over it are kept.

        ``release`` is called when it is sure to go: it closes the collection where this process has it open.
        """
        from ingest.ledger.lock import ingest_lock
        from ingest.pipeline.reembed import drop_replaced

        self._existing(name)
        with ingest_lock(self.engine, name):
            release()
            drop_replaced(name, self.store, self.ledger, self.aliases)
            stored_name = self.aliases.resolve(name)
            self.store.drop(stored_name)
            self.ledger.forget(name)
            self.aliases.forget(stored_name)
            self.uploads.drop(name)
