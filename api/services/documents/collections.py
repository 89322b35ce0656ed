"""Use cases for listing, opening, changing and deleting collections.

``collection_pool.py`` keeps collections open for the service. ``ingest.py`` creates and fills them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Set
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from pydantic import Field

from api.auth.permissions import ALL_COLLECTIONS, Caller, Right
from api.errors import CollectionNotNamed
from api.services.documents.selection import require_kept
from base.bin import places
from base.counts import count
from base.models import FrozenModel
from ingest.ledger.records import Count, DocumentState
from vectorstore.embedded import EmbeddedStore
from vectorstore.errors import CollectionMismatch, CollectionNotFound, PassagesLost, RecordsLost
from vectorstore.models import SEPARATOR, CollectionSpec, UnreadableCollection, names_in, select
from vectorstore.settings import settings_for

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from api.services.research.library import CollectionLibrary
    from api.storage.uploads import Uploads
    from ingest.ledger.aliases import CollectionAliases
    from ingest.ledger.ledger import Ledger
    from ingest.ledger.lock import IngestLock
    from ingest.pipeline.lost_passages import Difference
    from multi_agent.library import CatalogueEntry
    from multi_agent.memory.memories import Suggestions
    from vectorstore.embedding.embedder import QueryEmbedder
    from vectorstore.models import Chunk
    from vectorstore.reranking import Reranker
    from vectorstore.store import Collection, Searchable, VectorStore


class CollectionInfo(FrozenModel):
    """A collection with the number of its documents and passages."""

    name: str
    embedding_model: str | None = Field(description="Null if the collection is lost or cannot be read.")
    dimension: int | None
    chunking: str | None
    documents: int = Field(description="Number of searchable documents.")
    chunks: int
    failed: int = Field(description="Number of documents that could not be read.")
    unreadable: str = Field(description="Why the collection cannot be read now. Empty if it can be read.")
    lost: bool = Field(
        default=False,
        description="Whether the vector store has lost the collection. Then the settings are null, and searches fail "
        "until `POST /v1/collections/{collection}/ingest` with `retry_failed` restores it.",
    )


@dataclass(eq=False)
class Collections:
    """All collections of a data folder. Calls block.

    ``load_embedder`` returns the embedding model of queries and loads it on the first call, or None for a
    ``Retriever`` without one. ``embedding_model`` is its name.
    ``draw_page`` takes a collection, a chunk and a page number, and returns the picture of the page as PNG.
    """

    store: VectorStore
    aliases: CollectionAliases
    ledger: Ledger
    uploads: Uploads
    engine: Engine
    embedding_model: str
    load_embedder: Callable[[], QueryEmbedder | None]
    draw_page: Callable[[str, Chunk, int], bytes]
    suggestions: Callable[[], Suggestions]
    reranker: Reranker | None = None

    def resolve(self, name: str | None, among: Set[str] | None = None) -> str:
        """Return the selection ``name``, such as ``papers+mail``; ``*`` means all collections (in ``among``).

        Without a name, return the only collection. Raises UsageError if there is not exactly one.
        """
        if name and name != ALL_COLLECTIONS:
            return select(filter(None, names_in(name)))
        found = [each.collection for each in self.list()] or self.specs()
        names = [each for each in found if among is None or each in among]
        if name and names:
            return select(names)
        if len(names) == 1:
            return names[0]
        if not names:
            raise CollectionNotNamed("There is no collection yet.").with_command("Create one: `candor ingest FOLDER`.")
        named = f"There are several collections: {', '.join(names)}."
        raise CollectionNotNamed(named).with_command("Name one with --collection.")

    def resolve_for(self, caller: Caller, right: Right, name: str | None) -> str:
        """Return the selection if the caller has the right over each of its collections.

        The right is checked before the collection is looked up. Raises UsageError, CollectionNotFound, Forbidden.
        """
        resolved = self.resolve(name, among=caller.names_with(min(right, Right.READ, key=lambda each: each.level)))
        caller.require(right, resolved)
        self.require_kept(resolved)
        return resolved

    def require_kept(self, selection: str) -> None:
        """Raise InBin if a collection of the selection is in the bin."""
        require_kept(self.engine, selection)

    def counts(self) -> dict[str, dict[DocumentState, Count]]:
        """Count documents and chunks by collection and state, without deleted collections."""
        hidden = places(self.engine)
        return {name: states for name, states in self.ledger.counts().items() if name not in hidden}

    def require(self, name: str) -> CollectionSpec:
        """Return the specification of an existing collection.

        Raises UsageError for several collections, InBin, CollectionNotFound, PassagesLost, StoreUnavailable.
        """
        if SEPARATOR in name:
            raise CollectionNotNamed(f"This takes one collection, not {' and '.join(names_in(name))}.")
        self.require_kept(name)
        if spec := self._find(name):
            return spec
        if lost := self.ledger.indexed(name).documents:
            raise PassagesLost(name, count(lost, "document"))
        raise CollectionNotFound(name, [each.collection for each in self.list()])

    def require_known(self, name: str) -> None:
        """Raise CollectionNotFound unless the store or the database has something of the collection."""
        try:
            self.require(name)
        except (CollectionNotFound, PassagesLost):
            if name not in self.counts():
                raise

    def alias_of(self, name: str, *, any_model: bool = False) -> str:
        """Return the name under which the store keeps the live version.

        Raises CollectionNotFound, PassagesLost, and CollectionMismatch for another embedding model than the configured
        one, unless ``any_model``.
        """
        existing = self.require(name)
        if existing.embedding_model != self.embedding_model and not any_model:
            raise CollectionMismatch(
                f"Collection {name!r} was embedded with {existing.embedding_model!r}, but the configured model is "
                f"{self.embedding_model!r}. Set {settings_for(existing.embedding_model)} to search it, or ingest it "
                "again to embed it with the configured model."
            ).with_command(f"`candor ingest FOLDER --collection {name}` embeds it again.")
        return existing.name

    @contextmanager
    def open(self, selection: str) -> Iterator[Searchable]:
        """Open the live documents of collections for searches. Raises StoreError."""
        names = names_in(selection)
        with ExitStack() as stack:
            aliases = {name: self.alias_of(name, any_model=len(names) > 1) for name in names}
            opened = {name: stack.enter_context(self.store.open(alias)) for name, alias in aliases.items()}
            for each in opened.values():
                self.require_records(each)
            yield self.join({name: self.live(collection) for name, collection in opened.items()})

    @contextmanager
    def open_library(self, selection: str) -> Iterator[CollectionLibrary]:
        """Open collections for research. Raises StoreError."""
        with self.open(selection) as opened:
            yield self.library(selection, opened)

    @contextmanager
    def change(self, name: str, opened: Collection | None = None) -> Iterator[Collection]:
        """Open a collection with all its versions under its lock, or lock the one that this process has open.

        Raises InBin, StoreError, IngestError.
        """
        self.require(name)
        with self.lock(name), ExitStack() as stack:
            yield opened or stack.enter_context(self.store.open(self.aliases.resolve(name)))

    def lock(self, name: str) -> AbstractContextManager[IngestLock]:
        """Return the lock that a process needs to change the collection. Entering it raises IngestUnderWay.

        Raises ForeignCollection if another database owns the collection.
        """
        from ingest.ledger.lock import ingest_lock

        self.store.claim(self.aliases.resolve(name))
        return ingest_lock(self.engine, name)

    def live(self, collection: Collection) -> Collection:
        """Return a view of an open collection that hides outdated versions of its documents."""
        from ingest.ledger.versions import LiveCollection

        return LiveCollection(collection, self.ledger)

    def require_records(self, collection: Collection) -> None:
        """Raise RecordsLost if an open collection of the data folder has passages that the database never knew."""
        name = collection.spec.collection
        # Each ingest hides versions before it writes passages, so a database without changes has never seen one.
        unknown = not (self.ledger.changes(name) or self.ledger.indexed(name).documents)
        if unknown and isinstance(self.store, EmbeddedStore) and collection.count().chunks:
            raise RecordsLost(name)

    def words_alone(self, selection: str) -> str:
        """Return why collections are searched by words alone. Empty if they are not. Raises StoreError."""
        names = names_in(selection)
        if len(names) == 1 or len({self.require(name).embedding_model for name in names}) == 1:
            return ""
        return (
            f"{' and '.join(names)} were embedded with different models, so they were searched by words alone. Ingest "
            "them with the same model to search by meaning, too."
        )

    def join(self, opened: Mapping[str, Collection]) -> Searchable:
        """Return open collections, by name, as one."""
        from vectorstore.joined import JoinedCollections

        return JoinedCollections(opened) if len(opened) > 1 else next(iter(opened.values()))

    def library(self, selection: str, opened: Searchable) -> CollectionLibrary:
        """Return the panel's view of open collections. Raises EmbeddingModelError."""
        from api.services.research.library import CollectionLibrary
        from vectorstore.joined import part_of
        from vectorstore.retrieval import Retriever

        return CollectionLibrary(
            selection,
            partial(self.catalogue, selection),
            Retriever(opened, self.load_embedder()),
            lambda chunk, page: self.draw_page(part_of(selection, chunk.name), chunk, page),
            None if SEPARATOR in selection else partial(self.ledger.searchable, selection),
            partial(self.ledger.days, names_in(selection)),
            partial(self.catalogue, selection, unread=True),
            self.reranker,
        )

    def catalogue(
        self, selection: str, *, unread: bool = False, within: Callable[[str], bool] | None = None
    ) -> list[CatalogueEntry]:
        """Return the searchable or unread documents of collections. With several, names begin with the collection.

        ``within`` chooses them by their paths.
        """
        from api.services.research.library import list_catalogue

        self.require_kept(selection)
        names = names_in(selection)
        if len(names) == 1:
            return list_catalogue(self.ledger, selection, unread=unread, within=within)
        return [
            entry._replace(name=f"{name}/{entry.name}")
            for name in names
            for entry in list_catalogue(self.ledger, name, unread=unread, within=within)
        ]

    def drop(self, name: str, release: Callable[[], None] = lambda: None) -> None:
        """Delete a collection, its documents' records, uploaded files and suggested questions. Keeps its runs.

        ``release`` is called under the lock before the deletion. It closes the collection if this process has it open.
        Raises StoreError, IngestError.
        """
        from ingest.pipeline.reembed import drop_replaced

        with self.lock(name):
            release()
            drop_replaced(name, self.store, self.ledger, self.aliases)
            stored_name = self.aliases.resolve(name)
            with suppress(CollectionNotFound):  # the store has lost it
                self.store.drop(stored_name)
            self.ledger.forget(name)
            self.suggestions().forget(name)
            self.aliases.forget(stored_name)
            self.uploads.drop(name)

    def purge(self, name: str) -> int:
        """Erase the text of removed documents from the files of the store and the database.

        Returns the number of passages that remain. They are copied with their vectors into a new stored collection. The
        text of documents in the bin is kept.
        Raises UsageError, StoreError, IngestError.
        """
        from api.services.move.collections import copy_collection
        from api.storage.release import release_space
        from ingest.ledger.versions import delete_hidden_chunks
        from ingest.pipeline.reembed import drop_replaced, open_successor

        spec = self.require(name)
        with self.lock(name):
            drop_replaced(name, self.store, self.ledger, self.aliases)  # including the copy of an interrupted purge
            with self.store.open(spec.name) as source:
                delete_hidden_chunks(source, self.ledger, name)
                successor = spec.model_copy(update={"name": name})
                with open_successor(successor, self.store, self.aliases) as copy:
                    copied = copy_collection(source, copy, lambda *_: None)
            self.aliases.promote(name)  # also deletes the digests of texts
            drop_replaced(name, self.store, self.ledger, self.aliases)
        release_space(self.engine, rewrite=True)
        return copied

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
        return self._specs(self.counts())

    def _specs(
        self, counted: Mapping[str, Mapping[DocumentState, Count]]
    ) -> dict[str, CollectionSpec | UnreadableCollection | None]:
        stored = {spec.collection: spec for spec in self.list()}
        listed = [name for name, states in counted.items() if any(each.chunks for each in states.values())]
        return {name: stored.get(name) for name in sorted({*stored, *listed})}

    def overview(self) -> Iterator[CollectionInfo]:
        """Yield all collections by name, with the number of their documents and passages."""
        counted = self.counts()
        for name, found in self._specs(counted).items():
            spec = found if isinstance(found, CollectionSpec) else None
            states = counted.get(name, {})
            failed = states.get(DocumentState.FAILED)
            yield CollectionInfo(
                name=name,
                embedding_model=spec and spec.embedding_model,
                dimension=spec and spec.dimension,
                chunking=spec and spec.chunking,
                documents=sum(each.searchable for each in states.values()),
                chunks=sum(each.chunks for each in states.values()),
                failed=failed.documents if failed else 0,
                lost=found is None,
                unreadable=found.reason if isinstance(found, UnreadableCollection) else "",
            )

    def searchable(self) -> list[str]:
        """Return the names of the collections that have documents and use the configured embedding model."""
        counted = self.counts()
        return [
            spec.collection
            for spec in self.list()
            if isinstance(spec, CollectionSpec)
            and spec.embedding_model == self.embedding_model
            and any(each.chunks for each in counted.get(spec.collection, {}).values())
        ]

    def _find(self, name: str) -> CollectionSpec | None:
        spec = self.store.find(self.aliases.resolve(name))
        return spec if spec and spec.collection == name else None  # stored names of replaced versions have a number

    def list(self) -> list[CollectionSpec | UnreadableCollection]:
        """Return the live version of every collection. Those that cannot be read are listed with the reason."""
        live, hidden = self.aliases.live(), places(self.engine)
        return [
            spec
            for spec in self.store.list()
            if spec.name == live.get(spec.collection, spec.collection) and spec.collection not in hidden
        ]
