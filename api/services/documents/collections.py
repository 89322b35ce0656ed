"""Use cases for listing, opening, changing and deleting collections.

``collection_pool.py`` keeps collections open for the service. ``ingest.py`` creates and fills them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from api.auth.permissions import Caller, Right
from api.errors import CollectionNotNamed
from vectorstore.errors import CollectionMismatch, CollectionNotFound, PassagesLost
from vectorstore.models import CollectionSpec
from vectorstore.text.counts import count

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from api.services.research.library import CollectionLibrary
    from api.storage.uploads import Uploads
    from ingest.ledger.aliases import CollectionAliases
    from ingest.ledger.ledger import Ledger
    from ingest.ledger.lock import IngestLock
    from ingest.pipeline.lost_passages import Difference
    from multi_agent.library import CatalogueEntry
    from multi_agent.memory.suggestions import Suggestions
    from vectorstore.embedding.embedder import QueryEmbedder
    from vectorstore.models import Chunk, UnreadableCollection
    from vectorstore.store import Collection, VectorStore


class Collections:
    """All collections of a data folder. Calls block.

    ``load_embedder`` returns the embedding model of queries and loads it on the first call, or None for a
    ``Retriever`` without one. ``embedding_model`` is its name.
    ``draw_page`` takes a collection, a chunk and a page number, and returns the picture of the page as PNG.
    """

    def __init__(
        self,
        store: VectorStore,
        aliases: CollectionAliases,
        ledger: Ledger,
        uploads: Uploads,
        engine: Engine,
        embedding_model: str,
        load_embedder: Callable[[], QueryEmbedder | None],
        draw_page: Callable[[str, Chunk, int], bytes],
        suggestions: Suggestions,
    ) -> None:
        self.store, self.aliases, self.ledger = store, aliases, ledger
        self.load_embedder, self._draw_page = load_embedder, draw_page
        self._uploads, self._engine, self._embedding_model = uploads, engine, embedding_model
        self._suggestions = suggestions

    def resolve(self, name: str | None, among: Set[str] | None = None) -> str:
        """Return ``name``, or the only collection (in ``among``). Raises UsageError if there is not exactly one."""
        if name:
            return name
        found = [each.collection for each in self.list()] or self.specs()
        names = [each for each in found if among is None or each in among]
        if len(names) == 1:
            return names[0]
        if not names:
            raise CollectionNotNamed("There is no collection yet.").with_command("Create one: `candor ingest FOLDER`.")
        named = f"There are several collections: {', '.join(names)}."
        raise CollectionNotNamed(named).with_command("Name one with --collection.")

    def resolve_for(self, caller: Caller, right: Right, name: str | None) -> str:
        """Return the collection's name if the caller has the right over it.

        The right is checked before the collection is looked up. Raises UsageError, CollectionNotFound, Forbidden.
        """
        resolved = self.resolve(name, among=caller.readable)
        caller.require(right, resolved)
        return resolved

    def require(self, name: str) -> CollectionSpec:
        """Return the specification of an existing collection.

        Raises CollectionNotFound, PassagesLost, StoreUnavailable.
        """
        if spec := self._find(name):
            return spec
        if lost := self.ledger.indexed(name).documents:
            raise PassagesLost(name, count(lost, "document"))
        raise CollectionNotFound(name, [each.collection for each in self.list()])

    def alias_of(self, name: str) -> str:
        """Return the name under which the store keeps the live version.

        Raises CollectionNotFound, PassagesLost, CollectionMismatch.
        """
        existing = self.require(name)
        if existing.embedding_model != self._embedding_model:
            raise CollectionMismatch(
                f"Collection {name!r} was embedded with {existing.embedding_model!r}, but the configured model is "
                f"{self._embedding_model!r}. Set CANDOR_STORE__EMBEDDING__MODEL={existing.embedding_model} to search "
                "it, or ingest it again to embed it with the configured model."
            ).with_command(f"`candor ingest FOLDER --collection {name}` embeds it again.")
        return existing.name

    @contextmanager
    def open(self, name: str) -> Iterator[Collection]:
        """Open the live documents of a collection for searches. Raises StoreError."""
        with self.store.open(self.alias_of(name)) as collection:
            yield self.live(collection)

    @contextmanager
    def open_library(self, name: str) -> Iterator[CollectionLibrary]:
        """Open a collection for research. Raises StoreError."""
        with self.open(name) as collection:
            yield self.library(name, collection)

    @contextmanager
    def change(self, name: str) -> Iterator[Collection]:
        """Open a collection with all its versions under its lock. Raises StoreError, IngestError."""
        self.require(name)
        with self.lock(name), self.store.open(self.aliases.resolve(name)) as collection:
            yield collection

    def lock(self, name: str) -> AbstractContextManager[IngestLock]:
        """Return the lock that a process needs to change the collection. Entering it raises IngestUnderWay.

        Raises ForeignCollection if another database owns the collection.
        """
        from ingest.ledger.lock import ingest_lock

        self.store.claim(self.aliases.resolve(name))
        return ingest_lock(self._engine, name)

    def live(self, collection: Collection) -> Collection:
        """Return a view of an open collection that hides outdated versions of its documents."""
        from ingest.ledger.versions import LiveCollection

        return LiveCollection(collection, self.ledger)

    def library(self, name: str, collection: Collection) -> CollectionLibrary:
        """Return the panel's view of an open collection. Raises EmbeddingModelError."""
        from api.services.research.library import CollectionLibrary
        from vectorstore.retrieval import Retriever

        retriever = Retriever(collection, self.load_embedder())
        return CollectionLibrary(
            name, lambda: self.catalogue(name), retriever, partial(self._draw_page, name),
            partial(self.ledger.searchable, name),
        )  # fmt: skip

    def catalogue(self, name: str) -> list[CatalogueEntry]:
        """Return the searchable documents of a collection."""
        from api.services.research.library import list_catalogue

        return list_catalogue(self.ledger, name)

    def drop(self, name: str, release: Callable[[], None] = lambda: None) -> None:
        """Delete a collection, its documents' records, uploaded files and suggested questions. Keeps its runs.

        ``release`` is called under the lock before the deletion. It closes the collection if this process has it open.
        Raises StoreError, IngestError.
        """
        from ingest.pipeline.reembed import drop_replaced

        with suppress(PassagesLost):
            self.require(name)
        with self.lock(name):
            release()
            drop_replaced(name, self.store, self.ledger, self.aliases)
            stored_name = self.aliases.resolve(name)
            with suppress(CollectionNotFound):  # the store has lost it
                self.store.drop(stored_name)
            self.ledger.forget(name)
            self._suggestions.forget(name)
            self.aliases.forget(stored_name)
            self._uploads.drop(name)

    def adopt(self, name: str) -> None:
        """Make the database of this process the owner of a collection on a server. Raises StoreError."""
        self.require(name)
        self.store.claim(self.aliases.resolve(name), take_over=True)

    def difference(self, name: str) -> Difference:
        """Compare the documents of a collection with the store. Raises StoreError, IngestError."""
        from ingest.pipeline.lost_passages import find_difference

        return find_difference(self.store, self._find(name), self.ledger, self.ledger.snapshot(name))

    def specs(self) -> dict[str, CollectionSpec | UnreadableCollection | None]:
        """Return the live version of every collection by name; None for a collection that the store has lost."""
        stored = {spec.collection: spec for spec in self.list()}
        counted = self.ledger.counts().items()
        listed = [name for name, states in counted if any(each.chunks for each in states.values())]
        return {name: stored.get(name) for name in sorted({*stored, *listed})}

    def searchable(self) -> list[str]:
        """Return the names of the collections that have documents and use the configured embedding model."""
        counted = self.ledger.counts()
        return [
            spec.collection
            for spec in self.list()
            if isinstance(spec, CollectionSpec)
            and spec.embedding_model == self._embedding_model
            and any(each.chunks for each in counted.get(spec.collection, {}).values())
        ]

    def _find(self, name: str) -> CollectionSpec | None:
        spec = self.store.find(self.aliases.resolve(name))
        return spec if spec and spec.collection == name else None  # stored names of replaced versions have a number

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        """Return the live version of every collection. Those that cannot be read are listed with the reason."""
        live = self.aliases.live()
        return [spec for spec in self.store.list() if spec.name == live.get(spec.collection, spec.collection)]
