"""Plans ingests, re-embeds the collection if the embedding model has changed, and executes the plan.

The command line and the jobs of the service use this module. An ingest walks the files, reads the ledger and checks the
embedding model once, while it holds the lock of the collection.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from sqlalchemy import Engine

from api.errors import SettingsError, UsageError
from api.services.documents.collection_pool import CollectionPool
from api.services.documents.selection import require_kept
from api.services.documents.sources import Sources, require_web_addresses
from api.settings import Settings
from api.storage.uploads import Uploads
from ingest.chunking.chunker import Chunker
from ingest.errors import NothingToIngest
from ingest.fields import given_fields, tag_names
from ingest.isolation.isolated_parser import IsolatedChunker, IsolatedParser
from ingest.ledger.aliases import CollectionAliases, staging_name
from ingest.ledger.ledger import Ledger
from ingest.ledger.lock import IngestLock, ingest_lock
from ingest.ledger.records import DocumentState, DocumentSummary, Stage
from ingest.parser import Parser, load_parser
from ingest.pipeline.boundary import Boundary
from ingest.pipeline.discovery import FoundFile, discover
from ingest.pipeline.lost_passages import Difference, find_difference, repair
from ingest.pipeline.model.figures import DescribingParser
from ingest.pipeline.model.model_facts import FactsParser
from ingest.pipeline.moves import Identities
from ingest.pipeline.outcomes import found_record
from ingest.pipeline.pipeline import IngestPipeline
from ingest.pipeline.plan import IngestRequest, Plan, index_settings, plan_ingest, require_files
from ingest.pipeline.read_ahead import Copies
from ingest.pipeline.reembed import ModelChange, ReembedReport, drop_replaced, open_successor, reembed
from ingest.pipeline.stored_text import StoredTextIngest
from ingest.pipeline.tally import IngestReport, Progress, Tally
from ingest.pipeline.web_address import AddressedParser
from ingest.reader import ParserOptions
from ingest.settings import IngestSettings
from vectorstore.embedding.embedder import Embedder
from vectorstore.errors import CollectionLocked
from vectorstore.models import NAME, CollectionSpec
from vectorstore.store import Collection, VectorStore
from vectorstore.text.languages import unknown_note

if TYPE_CHECKING:
    from api.services.documents.document_facts import ModelFactFinder
    from api.services.documents.figure_descriptions import ModelDescriber

_REBUILD_DROPPED = (
    "The embedding model matches the collection again. Vectors of another model from an unfinished ingest are dropped."
)


@dataclass(frozen=True)
class _PreparedIngest:
    """The data that an ingest collects before it makes changes."""

    plan: Plan
    known: dict[str, DocumentSummary]
    """The ledger's snapshot of the collection, adjusted for the model change."""
    spec: CollectionSpec
    """The collection to open or create, unless the model changes."""
    model_change: ModelChange | None
    difference: Difference
    """Between the ledger and the store; empty if the model changes."""
    chunker: Chunker
    seconds: float


@dataclass(frozen=True, eq=False)
class IngestService:
    """Plans and executes ingests."""

    all_settings: Settings
    engine: Engine
    store: VectorStore
    ledger: Ledger
    aliases: CollectionAliases
    load_embedder: Callable[[], Embedder]
    uploads: Uploads
    sources: Sources
    describer: "ModelDescriber | None" = None
    """None skips descriptions of figures."""
    fact_finder: "ModelFactFinder | None" = None
    """None skips facts from a model."""

    @property
    def _settings(self) -> IngestSettings:
        return self.all_settings.ingest

    def boundary(self, collection: str) -> Boundary:
        """Return the folders that the service may ingest from into this collection."""
        roots = tuple(root.expanduser() for root in self.all_settings.service.ingest_roots)
        return Boundary(roots=roots, own=self.all_settings.home, uploads=self.uploads.folder(collection))

    def check(self, request: IngestRequest, within: Boundary | None = None) -> None:
        """Raise IngestError, StoreError or UsageError if the ingest cannot start. Checks no individual file."""
        require_kept(self.engine, request.collection)
        tag_names(request.tags)
        given_fields(request.meta.items())
        self._new_spec(request.collection, self._create_chunker())
        self._with_models(load_parser(self._settings.parser))
        require_web_addresses(request.urls)
        if request.source:
            self.sources.find(request.collection, request.source)
        if (request.urls or request.source) and not request.paths:
            return
        known = {} if request.paths else self.ledger.snapshot(request.collection)
        base = self.uploads.folder(request.collection)
        if stored := self._find_spec(request.collection):
            self.store.claim(stored.name)
        try:
            require_files(request, known, own=self.all_settings.home, base=base, within=within)
        except NothingToIngest:
            if request.paths or not find_difference(self.store, stored, self.ledger, known):
                raise

    def expect(self, spec: IngestRequest) -> None:
        """List the uploaded files of a job as documents that wait for it, so that they are known if it never runs.

        What is indexed stays searchable. Raises LedgerUnavailable.
        """
        name = spec.collection
        require_kept(self.engine, name)
        entries = discover(spec.paths, self.all_settings.home, self.uploads.folder(name), self.boundary(name))
        found = [each for each in entries if isinstance(each, FoundFile)]
        known = self.ledger.snapshot(name, [each.document for each in found])
        ids = Identities(known)
        files = {identity: each for each in found for identity in [ids.of(each.document)]}
        indexed = {
            identity: known[identity].attempts for identity in files if identity in known and known[identity].chunks
        }
        self.ledger.advance(name, DocumentState.DISCOVERED, Stage.READING, indexed)
        self.ledger.record(
            *(
                found_record(name, each.model_copy(update={"id": identity}), size=each.path.stat().st_size)
                for identity, each in files.items()
                if identity not in indexed
            )
        )
        self.ledger.tag(name, list(files), add=spec.tags)

    def plan(self, request: IngestRequest) -> Plan:
        """Plan an ingest without opening files or creating a collection. Raises IngestError, UsageError."""
        if request.urls:
            raise UsageError("A dry run fetches nothing from the web. Name only files and folders.")
        return self._prepare(request, None).plan

    def ingest(
        self,
        request: IngestRequest,
        progress: Callable[[Progress], None] = lambda _: None,
        *,
        on_plan: Callable[[Plan], None] = lambda _: None,
        on_reembedded: Callable[[ReembedReport], None] = lambda _: None,
        on_index: Callable[[], None] = lambda: None,
        cancelled: Callable[[], bool] = lambda: False,
        open_collection: Callable[[CollectionSpec], AbstractContextManager[Collection]] | None = None,
        within: Boundary | None = None,
    ) -> IngestReport:
        """Ingest into the collection. Creates it if it does not exist.

        Searches continue during the ingest and return each document in either its old or its new version. After
        ``cancelled`` returns true, the ingest stops within seconds, even within a file, and the next ingest continues.
        ``open_collection`` replaces the store's ``create`` if this process keeps collections open. Otherwise the ingest
        waits until the search index is built, after a call of ``on_index``. ``within`` restricts the folders to read
        from. None allows all.

        Restores documents that are missing from the store from their stored text, also those outside the paths.

        Raises IngestError, StoreError, UsageError. An ingest that cannot start creates no collection.
        """
        with ingest_lock(self.engine, request.collection) as lock, ExitStack() as kept:
            require_kept(self.engine, request.collection)
            reporter = Tally(0, progress)
            fetched = self.sources.fetch(
                request, lambda address: reporter.report_progress(address, Stage.READING), cancelled
            )
            if cancelled():
                return _cancelled_report(request.collection)
            prepared = self._prepare(fetched.request, within)
            on_plan(prepared.plan)
            for model in (self.describer, self.fact_finder):
                if model:
                    kept.enter_context(model.kept())
                    model.check()
            spec = self._change_model(prepared, lock, progress, on_reembedded, cancelled)
            if cancelled():
                return _cancelled_report(request.collection)

            def check() -> None:
                """Raise IngestUnderWay or ForeignCollection if this process may no longer write."""
                lock.check()
                self.store.claim(spec.name)

            folder = Path(kept.enter_context(TemporaryDirectory(prefix="candor-")))
            copies = Copies(within, folder) if within else None
            parser = kept.enter_context(self._create_parser(cancelled))
            with (open_collection or self.store.create)(spec) as collection:
                pipeline = IngestPipeline(
                    parser=AddressedParser(self._with_models(parser), self.uploads.url),
                    chunker=IsolatedChunker(prepared.chunker, parser.pool, self._settings.max_passages),
                    embedder=self.load_embedder(),
                    collection=collection,
                    ledger=self.ledger,
                    settings=self._settings,
                    parse_threads=self._settings.parse_workers,
                    check=check,
                    copies=copies,
                    unpack=parser.pool.expand,
                )
                report = pipeline.ingest(
                    prepared.plan, prepared.known, progress, cancelled=cancelled, planning_seconds=prepared.seconds
                )  # fmt: skip
                # A node with a full disk can lose its copy of a write that the other nodes confirmed.
                copied = report.chunks > 0 and "," in (self.all_settings.store.url or "")
                if not report.cancelled and (prepared.difference or prepared.model_change or copied):
                    documents = StoredTextIngest(
                        request.collection, collection, self.ledger, prepared.chunker, self.load_embedder(),
                        self._settings.embed_batch, check,
                    )  # fmt: skip
                    report = repair(report, collection, self.ledger, documents, progress, cancelled)
                if not (report.cancelled or open_collection):
                    collection.optimize(on_index, cancelled)
                note = unknown_note(collection.languages(exact=False), self.load_embedder().languages)
                return fetched.complete(report.model_copy(update={"search_note": note}))

    def _prepare(self, request: IngestRequest, within: Boundary | None) -> _PreparedIngest:
        """Walk the files, read the ledger and check the embedding model, each once."""
        started = time.perf_counter()
        name, chunker = request.collection, self._create_chunker()
        spec, known, change = self._new_spec(name, chunker), self.ledger.snapshot(name), None
        if stored := self._find_spec(name):
            self.store.claim(stored.name)
            # The spec keeps its original chunking, because the ledger stores the chunking of each document.
            spec = spec.model_copy(update={"name": stored.name, "chunking": stored.chunking})
        else:  # the store may have lost a collection that has an alias
            spec = spec.model_copy(update={"name": self.aliases.resolve(name)})
        if stored and stored.embedding_model != spec.embedding_model:
            change = ModelChange(
                collection=name,
                before=stored.embedding_model,
                now=spec.embedding_model,
                documents=sum(each.chunks > 0 for each in known.values()),
            )
            known = change.apply(known, chunker.fingerprint)
        difference = Difference() if change else find_difference(self.store, stored, self.ledger, known)
        try:
            plan = plan_ingest(
                request,
                known,
                index_settings(self._with_models(load_parser(self._settings.parser)), chunker, self._settings),
                own=self.all_settings.home,
                base=self.uploads.folder(name),
                within=within,
            )
        except NothingToIngest:
            if request.paths or not difference:
                raise
            plan = Plan(collection=name, files=())
        plan = plan.model_copy(update={"notices": (*difference.notices, *plan.notices)})
        if change:
            plan = plan.with_notice(change.notice)
        elif self.aliases.building(name):
            plan = plan.with_notice(_REBUILD_DROPPED)
        return _PreparedIngest(plan, known, spec, change, difference, chunker, time.perf_counter() - started)

    def _change_model(
        self,
        prepared: _PreparedIngest,
        lock: IngestLock,
        progress: Callable[[Progress], None],
        on_reembedded: Callable[[ReembedReport], None],
        cancelled: Callable[[], bool],
    ) -> CollectionSpec:
        """Re-embed the collection if the configured model has changed. Return the spec of the live collection.

        If cancelled, searches use the old vectors, and the next ingest continues the re-embedding.
        """
        spec, chunker = prepared.spec, prepared.chunker
        if change := prepared.model_change:
            name = change.collection
            with open_successor(self._new_spec(name, chunker), self.store, self.aliases) as successor:
                documents = StoredTextIngest(
                    name, successor, self.ledger, chunker, self.load_embedder(), self._settings.embed_batch, lock.check,
                    staged=staging_name(successor.spec.name),
                )  # fmt: skip
                report = reembed(change, prepared.known, successor, self.ledger, documents, progress, cancelled)
            if report is None:
                return spec
            self.aliases.promote(name)
            on_reembedded(report)
            spec = successor.spec
        with suppress(CollectionLocked):  # another process still searches it; the next ingest drops it
            drop_replaced(prepared.plan.collection, self.store, self.ledger, self.aliases)
        return spec

    def _find_spec(self, name: str) -> CollectionSpec | None:
        return self.store.find(self.aliases.resolve(name))

    def _new_spec(self, name: str, chunker: Chunker) -> CollectionSpec:
        """Return the spec of a new collection with the current settings. Raises UsageError for an invalid name."""
        if not NAME.fullmatch(name):
            raise UsageError(f"{name!r} is not a valid collection name. Use at most 63 letters, digits, '-' and '_'.")
        return CollectionSpec(
            name=name,
            embedding_model=self.load_embedder().model,
            dimension=self.load_embedder().dimension,
            chunking=chunker.fingerprint,
        )

    def _create_chunker(self) -> Chunker:
        limit = self.load_embedder().max_tokens
        tokens = self._settings.chunk_tokens or limit
        if tokens > limit:
            raise SettingsError(
                f"ingest.chunk_tokens is {tokens}, but {self.load_embedder().model!r} reads only {limit} tokens of a "
                "passage. Lower the setting, or choose another embedding model."
            )
        return Chunker(self.load_embedder().count_tokens, tokens, self._settings.chunk_overlap)

    def _with_models(self, parser: Parser) -> Parser:
        """Wrap the parser to get facts and descriptions of figures from models, if configured."""
        if self.fact_finder:
            parser = FactsParser(parser, self.fact_finder.name, self.fact_finder.find)
        if self.describer:
            parser = DescribingParser(parser, self.describer.name, self.describer.describe)
        return parser

    def _create_parser(self, cancelled: Callable[[], bool]) -> IsolatedParser:
        settings = self._settings
        return IsolatedParser(
            settings.parser,
            workers=settings.parse_workers,
            timeout_s=settings.parse_timeout_s,
            memory_mb=settings.parse_memory_mb,
            options=ParserOptions(ocr=settings.ocr, ocr_languages=settings.ocr_languages),
            max_text_mb=settings.max_text_mb,
            cancelled=cancelled,
        )


def run_ingest_job(
    ingest: IngestService,
    pool: CollectionPool,
    spec: IngestRequest,
    progress: Callable[[Progress], None],
    cancelled: Callable[[], bool],
) -> IngestReport:
    """Ingest into a collection that the service keeps open. Raises IngestError, StoreError, UsageError."""
    return ingest.ingest(
        spec, progress, cancelled=cancelled, open_collection=pool.open_or_create,
        within=ingest.boundary(spec.collection),
    )  # fmt: skip


def require_readable(settings: Settings, paths: Sequence[Path]) -> None:
    """Raise UsageError unless the service may read all these paths. Resolves links."""
    roots = [root.expanduser().resolve() for root in settings.service.ingest_roots]
    for path in paths:
        if not path.is_absolute():
            raise UsageError(f"{str(path)!r} is not an absolute path.")
        try:
            real = Path(os.path.abspath(path)).resolve()  # an ingest opens the path without its '..'
        except OSError as error:  # a link became a folder meanwhile
            raise UsageError(f"{str(path)!r} cannot be read: {error.strerror}. Try again.") from error
        if real.is_relative_to(settings.home.resolve()) or not any(real.is_relative_to(root) for root in roots):
            allowed = ", ".join(map(str, roots)) or "there are none yet"
            raise UsageError(
                f"The service may not read {str(path)!r}. The setting service.ingest_roots lists the folders that it "
                f"may ingest from ({allowed}). Upload the files, or add the folder to the setting."
            )


def _cancelled_report(collection: str) -> IngestReport:
    return IngestReport(
        collection=collection, files=0, indexed=0, unchanged=0, failed=(), failed_before=0, left_out=(), removed=(),
        chunks=0, embedded=0, tokens=0, pages=0, stage_seconds={}, seconds=0.0, cancelled=True,
    )  # fmt: skip
