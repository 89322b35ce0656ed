"""The composition root, the only module that names concrete classes and connects them.

Every part is built on first use, so a command imports and opens only the parts that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from threading import RLock
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

from api.errors import SettingsError, usage_errors
from api.settings import MODELS_FILE, Settings, read_models

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import Engine

    from api.auth.audit import Audit
    from api.auth.callers import Callers
    from api.auth.keys import Keys
    from api.auth.oidc import Oidc
    from api.auth.users import Users
    from api.services.bin import Bin
    from api.services.catalog.agents import Agents
    from api.services.catalog.plans import Plans
    from api.services.doctor import Doctor
    from api.services.documents.collections import Collections
    from api.services.documents.document_facts import ModelFactFinder
    from api.services.documents.documents import Documents
    from api.services.documents.figure_descriptions import ModelDescriber
    from api.services.documents.ingest import IngestService
    from api.services.documents.meaning import Meanings
    from api.services.documents.page_pictures import PagePictureDrawer
    from api.services.documents.shown_pages import ShownPages
    from api.services.documents.sources import Sources
    from api.services.documents.suggested_questions import QuestionSuggester
    from api.services.evaluation.evaluations import Evaluations
    from api.services.exports.import_run import RunImport
    from api.services.research.command_runs import CommandRuns
    from api.services.research.prune import RunPruning
    from api.services.research.research import PanelFactory
    from api.services.tables.tables import Tables
    from api.storage.uploads import Uploads
    from ingest.ledger.aliases import CollectionAliases
    from ingest.ledger.ledger import Ledger
    from multi_agent.catalog.catalog import AgentCatalog
    from multi_agent.llm.wrappers.requests import MakeLocks
    from multi_agent.memory.memories import Memories, Suggestions
    from multi_agent.memory.plans import PlanMemory
    from multi_agent.storage.recording import RunArchive
    from multi_agent.storage.trace import Trace
    from multi_agent.telemetry.otlp import SpanExport
    from multi_agent.toolbox.toolbox import Toolbox
    from vectorstore.embedding.embedder import Embedder, QueryEmbedder
    from vectorstore.remote.process import SearchProcess
    from vectorstore.reranking import Reranker
    from vectorstore.store import Vectors, VectorStore


T = TypeVar("T")

_STORES = (
    "api.auth.audit",
    "api.auth.keys",
    "api.auth.sessions",
    "api.auth.users",
    "api.storage.live_processes",
    "ingest.ledger.schema",
    "multi_agent.catalog.store",
    "multi_agent.evaluation.store",
    "multi_agent.memory.memories",
    "multi_agent.memory.plans",
    "multi_agent.memory.similarity",
    "multi_agent.storage.tables",
    "multi_agent.tables.store",
    "multi_agent.toolbox.approvals",
)


def import_stores() -> None:
    """Import the modules that declare tables, so that ``METADATA`` has all of them."""
    for name in _STORES:
        import_module(name)


class part(Generic[T]):  # noqa: N801 - a decorator
    """A part of Candor that is built on first use: once, also when several threads ask for it at the same time."""

    def __init__(self, build: Callable[[Candor], T]) -> None:
        self._build, self._name = build, build.__name__

    @overload
    def __get__(self, candor: None, owner: type[Candor]) -> Self: ...
    @overload
    def __get__(self, candor: Candor, owner: type[Candor]) -> T: ...

    def __get__(self, candor: Candor | None, owner: type[Candor]) -> T | Self:
        if candor is None:
            return self
        with candor.building:
            parts: dict[str, T] = vars(candor)  # Python looks here first from now on
            if self._name not in parts:
                parts[self._name] = self._build(candor)
            return parts[self._name]


class Candor:
    """All parts of Candor for one data folder.

    With ``search_process``, queries are embedded in the search process, which must run: ``serve_store`` starts it.
    """

    def __init__(self, settings: Settings, *, search_process: bool = False) -> None:
        self.settings = settings
        self.building = RLock()
        self._search_process = search_process

    def refresh(self) -> None:
        """Use the models that people have chosen since the settings were read. Every job does this when it starts.

        What runs keeps its model. Raises UsageError.
        """
        with self.building:
            before, parts = self.settings, vars(self)
            with usage_errors(f"{str(before.home / MODELS_FILE)!r} is invalid"):
                self.settings = now = before.with_models(read_models(before.home))
            if now is before:
                return
            embedding = now.store.embedding
            stale = ("embedder", "queries") if embedding != before.store.embedding else ()
            for name in ("reranker", "doctor", *stale):
                parts.pop(name, None)
            if "panel" in parts:
                self.panel.use(now)
            if "collections" in parts:
                self.collections.embedding_model, self.collections.reranker = embedding.identity, self.reranker
            for name in ("figure_describer", "fact_finder"):
                if name in parts:
                    parts[name].use(now.llm)
            for name in ("plan_memory", "memories"):
                if name in parts:
                    parts[name].use(embedding.identity)

    # Storage

    @part
    def engine(self) -> Engine:
        """The SQL database: Postgres if a URL is set, otherwise SQLite in the data folder."""
        from api.storage.database import open_database

        return open_database(self.settings, import_stores)

    @part
    def store(self) -> VectorStore:
        """The vector store: a Qdrant server if a URL is set, otherwise embedded in the data folder."""
        store = self.settings.store
        if store.url is None:
            from vectorstore.embedded import EmbeddedStore

            return EmbeddedStore(self._collections_folder)
        from vectorstore.qdrant_server.store import Owner, ServerStore, connect

        owner = Owner(lambda: self.ledger.database_id(), lambda name: bool(self.ledger.indexed(name).documents))
        server = connect(store.url, store.api_key, timeout_s=store.timeout_s, retry_s=store.retry_s)
        return ServerStore(server, owner, settings=store)

    @property
    def _collections_folder(self) -> Path:
        return self.settings.home / "collections"

    @contextmanager
    def serve_store(self) -> Iterator[SearchProcess]:
        """Run the search process. With a Qdrant server, it only embeds queries. Raises StoreUnavailable."""
        from vectorstore.embedded import EmbeddedStore

        with self.make_search_process() as process:
            if isinstance(self.store, EmbeddedStore):
                self.store.served_at = process.address
            try:
                yield process
            finally:
                if isinstance(self.store, EmbeddedStore):
                    self.store.served_at = None

    def make_search_process(self) -> SearchProcess:
        """Return the search process, which is not started."""
        from vectorstore.remote.process import SearchProcess

        return SearchProcess(self._collections_folder, self.settings.store.embedding)

    @part
    def embedder(self) -> Embedder:
        """The embedding model."""
        from vectorstore.embedding.embedder import CachedEmbedder, make_embedder

        return CachedEmbedder(make_embedder(self.settings.store.embedding))

    @part
    def queries(self) -> QueryEmbedder:
        """The embedding model of queries."""
        if not self._embeds_elsewhere:
            return self.embedder
        from vectorstore.remote.client import RemoteQueries

        return RemoteQueries(self._collections_folder, self.settings.store.embedding)

    @part
    def reranker(self) -> Reranker | None:
        """The model that reranks found passages. None unless the settings name one."""
        from api.services.documents.rerankers import load_reranker

        return load_reranker(self.settings, self.make_request_locks)

    @part
    def ledger(self) -> Ledger:
        """The state of every ingested file."""
        from ingest.ledger.ledger import Ledger

        return Ledger(self.engine)

    @part
    def aliases(self) -> CollectionAliases:
        """The live stored version of each collection."""
        from ingest.ledger.aliases import CollectionAliases

        return CollectionAliases(self.engine)

    @part
    def uploads(self) -> Uploads:
        """Uploaded files, one folder for each collection."""
        from api.storage.uploads import Uploads

        return Uploads(self.settings.uploads_folder)

    @part
    def trace(self) -> Trace:
        """Runs with their events and journals."""
        from multi_agent.storage.trace import Trace

        return Trace(self.engine, self.command_runs.interrupted)

    @part
    def command_runs(self) -> CommandRuns:
        """The runs of commands in the data folder."""
        from api.services.research.command_runs import CommandRuns

        return CommandRuns(self.settings.home / "runs")

    @part
    def archive(self) -> RunArchive:
        """Adds and deletes whole runs."""
        from multi_agent.storage.recording import RunArchive

        return RunArchive(self.engine)

    @part
    def run_import(self) -> RunImport:
        """Adds runs of files."""
        from api.services.exports.import_run import RunImport

        return RunImport(self.archive, self.trace, self.documents, self.keys, self.settings.research)

    @part
    def pruning(self) -> RunPruning:
        """Deletes old runs."""
        from api.services.research.prune import RunPruning
        from api.storage.release import release_space
        from multi_agent.evaluation.store import EvaluationStore

        release = partial(release_space, self.engine)
        evaluations = EvaluationStore(self.engine)
        return RunPruning(self.trace, self.archive, evaluations, self.tools, self.audit, release)

    @part
    def keys(self) -> Keys:
        """API keys."""
        from api.auth.keys import Keys

        return Keys(self.engine)

    @part
    def users(self) -> Users:
        """Users and groups."""
        from api.auth.users import Users

        return Users(self.engine)

    @part
    def callers(self) -> Callers:
        """Finds who asks, by keys and sessions."""
        from api.auth.callers import Callers
        from api.auth.sessions import Sessions

        return Callers(self.keys, self.users, Sessions(self.engine))

    @part
    def oidc(self) -> Oidc:
        """The client of the identity provider. Raises SettingsError if its secret is not set."""
        from api.auth.oidc import Oidc

        settings = self.settings.service.oidc
        if settings.secret and settings.secret not in self.settings.keys:
            raise SettingsError(f"service.oidc.secret names the key {settings.secret!r}, which [keys] does not have.")
        return Oidc(settings, self.settings.keys[settings.secret].get_secret_value() if settings.secret else None)

    @part
    def audit(self) -> Audit:
        """The log of requests to the service."""
        from api.auth.audit import Audit

        return Audit(self.engine)

    # Parts of the panel

    @part
    def plan_memory(self) -> PlanMemory:
        """Saved plans, and plans that worked."""
        from multi_agent.memory.plans import PlanMemory

        return PlanMemory(self.engine, self.embed_query, self.settings.store.embedding.identity)

    @part
    def memories(self) -> Memories:
        """Preferences, how-to notes, conversations and tool use."""
        from multi_agent.memory.memories import Memories

        return Memories(self.engine, self.embed_query, self.settings.store.embedding.identity)

    @part
    def tools(self) -> Toolbox:
        """The tools that agents can be granted."""
        from api.services.research.downloads import DownloadReader
        from multi_agent.storage.tool_calls import ToolCalls
        from multi_agent.toolbox.approvals import Approvals
        from multi_agent.toolbox.toolbox import BUILT_IN, Toolbox, ToolRegistry

        settings = self.settings.tools
        servers = (server.name for server in settings.mcp_servers)
        registry = ToolRegistry.discover((BUILT_IN, *settings.packages), settings.disabled, servers)
        sandboxes = self.settings.home / "sandbox"
        reader = DownloadReader(self.settings.ingest)
        return Toolbox(registry, settings, sandboxes, Approvals(self.engine), ToolCalls(self.engine), reader)

    @part
    def panel(self) -> PanelFactory:
        """Builds models and orchestrators."""
        from api.services.research.research import PanelFactory

        listeners = (self.span_export.listen,) if self.span_export else ()
        return PanelFactory(
            self.settings, self.trace, self.plan_memory, self.tools, self.memories, self._make_catalog,
            self.command_runs, listeners, self.make_request_locks,
        )  # fmt: skip

    @part
    def span_export(self) -> SpanExport | None:
        """Exports runs to an OpenTelemetry collector. None unless the ``OTEL_…`` variables name one."""
        variables = self.settings.opentelemetry
        if not variables.enabled:
            return None
        from multi_agent.telemetry import make_export

        endpoints = (self.settings.llm, *self.settings.llms.values())
        return make_export(variables.variables, variables.protocol, endpoints, self.trace, content=variables.content)

    @part
    def make_request_locks(self) -> MakeLocks | None:
        """Makes the locks that limit requests to an endpoint. None on SQLite, where files in the data folder do."""
        if self.settings.database_url is None:
            return None
        from api.storage.advisory_locks import AdvisoryLocks

        return AdvisoryLocks(self.engine).for_endpoint

    @property
    def agent_catalog(self) -> AgentCatalog:
        """All agents and skills."""
        return self.panel.catalog

    def _make_catalog(self, settings: Settings) -> AgentCatalog:
        from multi_agent.catalog.catalog import AgentCatalog
        from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
        from multi_agent.catalog.store import CatalogStore

        found = AgentRegistry.discover_all((BUILT_IN, *settings.research.agent_packages))
        kept = CatalogStore(self.engine, settings.home)
        return AgentCatalog(found, kept, settings.research, settings.llms, self.tools)

    def embed_query(self, text: str) -> Vectors:
        """Embed a question. Raises EmbeddingModelError, StoreUnavailable."""
        return self.queries.embed_query(text)[0]

    # Use cases

    @part
    def collections(self) -> Collections:
        """List, open, change and delete collections."""
        from api.services.documents.collections import Collections

        model = self.settings.store.embedding.identity
        return Collections(
            self.store,
            self.aliases,
            self.ledger,
            self.uploads,
            self.engine,
            model,
            self._load_queries,
            lambda *page: self.page_pictures.draw(*page),
            lambda: self.suggestions,
            self.reranker,
        )

    def _load_queries(self) -> QueryEmbedder | None:
        """Return the model of queries. None if the search process embeds the query of each search."""
        return None if self._embeds_elsewhere and self.settings.store.url is None else self.queries

    @property
    def _embeds_elsewhere(self) -> bool:
        """Whether the search process embeds queries. It has no use for a model behind an endpoint."""
        return self._search_process and self.settings.store.embedding.provider == "local"

    @part
    def suggestions(self) -> Suggestions:
        """The suggested questions of collections."""
        from multi_agent.memory.memories import Suggestions

        return Suggestions(self.engine)

    @part
    def suggester(self) -> QuestionSuggester:
        """Suggests questions with a model."""
        from api.services.documents.suggested_questions import QuestionSuggester
        from multi_agent.storage.tables import OtherCalls

        calls = OtherCalls(self.engine)
        return QuestionSuggester(self.suggestions, self.ledger, self.trace, calls, self.panel.planner_model)

    @part
    def documents(self) -> Documents:
        """List, find, read and remove documents."""
        from api.services.documents.documents import Documents

        return Documents(self.collections, self.ledger, self.uploads)

    @part
    def meanings(self) -> Meanings:
        """Ask a model what the changes between two documents mean."""
        from api.services.documents.meaning import Meanings
        from multi_agent.storage.tables import OtherCalls

        return Meanings(self.panel, OtherCalls(self.engine))

    @part
    def pages(self) -> ShownPages:
        """Shows pages of documents as images."""
        from api.services.documents.shown_pages import ShownPages
        from ingest.pages.renderer import PageRenderer

        return ShownPages(PageRenderer(), self.ledger, self.settings.ingest.max_file_mb)

    @part
    def page_pictures(self) -> PagePictureDrawer:
        """Draws pages of documents as pictures for models."""
        from api.services.documents.page_pictures import PagePictureDrawer

        return PagePictureDrawer(self.ledger, self.settings.ingest.max_file_mb)

    @part
    def agents(self) -> Agents:
        """List and change agents."""
        from api.services.catalog.agents import Agents

        return Agents(self.agent_catalog, self.settings.research.agent_models)

    @part
    def plans(self) -> Plans:
        """List, propose, save, change and delete plans."""
        from api.services.catalog.plans import Plans

        return Plans(self.plan_memory, self.trace, self.agent_catalog, self.collections, self.panel.planner_model)

    @part
    def evaluations(self) -> Evaluations:
        """Start and run evaluations."""
        from api.services.evaluation.evaluations import Evaluations
        from multi_agent.evaluation.store import EvaluationStore

        store = EvaluationStore(self.engine)
        return Evaluations(store, self.panel, self.collections, self.ledger, self.trace)

    @part
    def tables(self) -> Tables:
        """Create and fill tables."""
        from api.services.tables.tables import Tables
        from multi_agent.storage.tables import OtherCalls
        from multi_agent.tables.store import TableStore

        return Tables(TableStore(self.engine), self.collections, self.panel, OtherCalls(self.engine))

    @part
    def bin(self) -> Bin:
        """Delete and restore collections, documents, runs, tables and keys."""
        from api.services.bin import Bin

        days = self.settings.service.bin_days
        return Bin(self.engine, days, self.collections, self.documents, self.pruning, self.tables.store, self.keys)

    @part
    def doctor(self) -> Doctor:
        """Checks every part."""
        from api.services.doctor import Doctor

        return Doctor(
            self.settings,
            lambda: self.engine,
            lambda: self.trace,
            lambda: self.store,
            lambda: self.embedder,
            lambda: self.collections,
        )

    @part
    def figure_describer(self) -> ModelDescriber:
        """Describes the figures of documents with the default model."""
        from api.services.documents.figure_descriptions import ModelDescriber

        return ModelDescriber(self.settings.llm, self.settings.home / "endpoints", self.make_request_locks)

    @part
    def fact_finder(self) -> ModelFactFinder:
        """Finds the facts of documents with the default model."""
        from api.services.documents.document_facts import ModelFactFinder

        return ModelFactFinder(self.settings.llm, self.settings.home / "endpoints", self.make_request_locks)

    @part
    def sources(self) -> Sources:
        """Add, list, remove and fetch the sources of collections."""
        from api.services.documents.sources import Sources
        from ingest.ledger.sources import SourceTable

        return Sources(SourceTable(self.engine), self.settings, self.uploads, self.ledger)

    @part
    def ingest(self) -> IngestService:
        """Plan and execute ingests."""
        from api.services.documents.ingest import IngestService

        return IngestService(
            self.settings,
            engine=self.engine,
            store=self.store,
            ledger=self.ledger,
            aliases=self.aliases,
            load_embedder=lambda: self.embedder,
            uploads=self.uploads,
            sources=self.sources,
            describer=self.figure_describer if self.settings.ingest.describe_figures else None,
            fact_finder=self.fact_finder if self.settings.ingest.facts == "model" else None,
        )
