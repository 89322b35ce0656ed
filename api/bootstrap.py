"""The one place that names concrete classes and puts them together. Heavy parts are made when first asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Set
from contextlib import contextmanager, nullcontext, suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from api.errors import SettingsError, UsageError
from api.panel_parts import PanelParts
from api.settings import Settings
from vectorstore.errors import CollectionLocked, CollectionMismatch, CollectionNotFound
from vectorstore.models import NAME

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from api.auth.audit import Audit
    from api.auth.keys import Keys
    from api.services.library import CollectionLibrary
    from api.storage.uploads import Uploads
    from ingest.chunking.chunker import Chunker
    from ingest.ledger.aliases import CollectionAliases
    from ingest.ledger.ledger import Ledger
    from ingest.pages.renderer import PageRenderer
    from ingest.pipeline.pipeline import IngestPipeline
    from ingest.pipeline.plan import Plan
    from ingest.pipeline.reembed import ModelChange, ReembedReport
    from ingest.pipeline.reports import Progress
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
    def places(self) -> CollectionAliases:
        """Where in the store each collection lies."""
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
        live = self.places.live()
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
        from ingest.ledger.lock import holding

        self._existing(name)
        with holding(self.engine, name), self.store.open(self.places.of(name)) as collection:
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

    @contextmanager
    def open_pipeline(self, name: str, opened: Collection | None = None) -> Iterator[IngestPipeline]:
        """What ingests into the collection, which is made if it is not there. Raises StoreError, IngestUnderWay.

        ``opened`` is the collection itself where this process has it open, and keeps it so.
        """
        from ingest.isolation.isolated_parser import IsolatedParser
        from ingest.ledger.lock import holding
        from ingest.pipeline.pipeline import IngestPipeline
        from ingest.reader import ParserOptions

        settings, chunker = self.settings.ingest, self._chunker()
        spec = self._spec(name, chunker)
        parser = IsolatedParser(
            settings.parser,
            workers=settings.parse_workers,
            timeout_s=settings.parse_timeout_s,
            memory_mb=settings.parse_memory_mb,
            options=ParserOptions(ocr=settings.ocr, ocr_languages=settings.ocr_languages),
        )
        opening = nullcontext(opened) if opened else self.store.create(spec)
        with holding(self.engine, name) as hold, parser, opening as collection:
            yield IngestPipeline(
                parser=parser,
                chunker=chunker,
                embedder=self.embedder,
                collection=collection,
                ledger=self.ledger,
                settings=settings,
                parse_threads=settings.parse_workers,
                own=self.settings.home,
                base=self.uploads.folder(name),
                check=hold.check,
            )

    def make_collection(self, name: str) -> None:
        """An empty collection. Raises StoreError, UsageError."""
        self.store.create(self._spec(name, self._chunker())).close()

    def plan_ingest(
        self, name: str, paths: Sequence[Path], *, documents: Sequence[str] = (), retry_failed: bool, sync: bool
    ) -> Plan:
        """What an ingest would do; opens no file and makes no collection. Raises IngestError."""
        from ingest.parser import load_parser
        from ingest.pipeline.plan import making, plan_ingest

        settings, chunker = self.settings.ingest, self._chunker()
        self._spec(name, chunker)
        made_with = making(load_parser(settings.parser), chunker, settings)
        known = self.ledger.snapshot(name)
        if change := self.model_change(name):
            known = change.applied(known, chunker.fingerprint)
        plan = plan_ingest(
            name, paths, known, made_with,
            documents=documents, own=self.settings.home, base=self.uploads.folder(name),
            retry_failed=retry_failed, sync=sync,
        )  # fmt: skip
        return plan.model_copy(update={"notices": (change.notice, *plan.notices)}) if change else plan

    def model_change(self, name: str) -> ModelChange | None:
        """Whether the collection was embedded with another model than the one in force."""
        from ingest.pipeline.reembed import ModelChange

        made_with = next((spec.embedding_model for spec in self.collections() if spec.collection == name), None)
        if made_with in (None, self.embedder.model):
            return None
        documents = sum(known.chunks > 0 for known in self.ledger.snapshot(name).values())
        return ModelChange(collection=name, before=made_with, now=self.embedder.model, documents=documents)

    def change_model(
        self, name: str, progress: Callable[[Progress], None], cancelled: Callable[[], bool] = lambda: False
    ) -> ReembedReport | None:
        """Embed the collection anew with the model in force, if that is another. Raises StoreError, IngestError.

        Cancelled, it is searched as it was; the next ingest goes on where this one ended.
        """
        from ingest.ledger.lock import holding
        from ingest.pipeline.reembed import Reembedding

        with holding(self.engine, name) as hold:
            report = None
            if change := self.model_change(name):
                chunker = self._chunker()
                with self._successor(name, chunker) as successor:
                    rebuild = Reembedding(
                        change, successor=successor, ledger=self.ledger, chunker=chunker, embedder=self.embedder,
                        batch=self.settings.ingest.embed_batch, check=hold.check,
                    )  # fmt: skip
                    report = rebuild.run(progress, cancelled)
                if report is None:
                    return None
                self.places.promote(name)
            with suppress(CollectionLocked):  # somebody still searches what was replaced: the next ingest drops it
                self._drop_unused(name)
            return report

    def _successor(self, name: str, chunker: Chunker) -> Collection:
        """Where the collection is built anew: what an earlier ingest began for the same model, or a new place."""
        from vectorstore.models import CollectionSpec

        stored = {spec.name: spec for spec in self.store.list()}
        wanted = CollectionSpec(
            name=self.places.building(name) or name,
            embedding_model=self.embedder.model,
            dimension=self.embedder.dimension,
            chunking=chunker.fingerprint,
        )
        if wanted.name == name or stored.get(wanted.name, wanted) != wanted:
            self.places.give_up(name)
            place = self.places.begin(name, taken={*stored, *self.places.retired(name)})
            wanted = wanted.model_copy(update={"name": place})
        return self.store.create(wanted)

    def _drop_unused(self, name: str) -> None:
        """Delete what was replaced, and what was begun for a model that is not in force any more."""
        from ingest.ledger.aliases import staging

        self.places.give_up(name)
        for place in self.places.retired(name):
            with suppress(CollectionNotFound):  # a process that was killed may have come as far as this
                self.store.drop(place)
            self.ledger.forget(staging(place))
            self.places.forget(place)

    def _chunker(self) -> Chunker:
        from ingest.chunking.chunker import Chunker

        return Chunker(self.embedder.count_tokens, self._chunk_tokens(), self.settings.ingest.chunk_overlap)

    def _spec(self, name: str, chunker: Chunker) -> CollectionSpec:
        """What the collection is made with. One that was made with another chunking keeps saying so: the ledger knows
        the chunking of each document, and the pipeline brings those it is given up to date."""
        from vectorstore.models import CollectionSpec

        existing = next((spec for spec in self.collections() if spec.collection == name), None)
        wanted = {
            "name": existing.name if existing else name,
            "embedding_model": self.embedder.model,
            "dimension": self.embedder.dimension,
            "chunking": existing.chunking if existing else chunker.fingerprint,
        }
        check_name(name)
        return CollectionSpec.model_validate(wanted)

    def _chunk_tokens(self) -> int:
        most = self.embedder.max_tokens
        chosen = self.settings.ingest.chunk_tokens or most
        if chosen > most:
            raise SettingsError(
                f"ingest.chunk_tokens is {chosen}, but {self.embedder.model!r} reads only {most} tokens of a passage: "
                "lower it, or name another embedding model."
            )
        return chosen

    def drop(self, name: str, release: Callable[[], None] = lambda: None) -> None:
        """Delete a collection, what is known of its documents, and what was uploaded into it; runs over it are kept.

        ``release`` is called when it is sure to go: it closes the collection where this process has it open.
        """
        from ingest.ledger.lock import holding

        self._existing(name)
        with holding(self.engine, name):
            release()
            self._drop_unused(name)
            self.store.drop(self.places.of(name))
            self.ledger.forget(name)
            self.places.forget(self.places.of(name))
            self.uploads.drop(name)


def check_name(name: str) -> None:
    """Whether a collection can have this name. Raises UsageError."""
    if not NAME.fullmatch(name):
        raise UsageError(f"{name!r} cannot name a collection: use letters, digits, '-' and '_', 63 at most.")
