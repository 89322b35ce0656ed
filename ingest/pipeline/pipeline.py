"""From files to a searchable collection: read, parse, chunk, embed, store, and note in the ledger what became of each.

One bad file never stops the rest; a store or a ledger that fails stops everything, with all finished files kept. Files
are read and parsed ahead in threads, beside the embedding. Killed at any point, the next ingest goes on from there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait

from ingest.chunking.chunker import Chunker
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, Known, Stage, document_id
from ingest.ledger.versions import remove_document, sweep
from ingest.parser import Parser
from ingest.pipeline.container_ingest import ContainerIngest
from ingest.pipeline.document_ingest import DocumentIngest
from ingest.pipeline.parse_file import Reading
from ingest.pipeline.plan import Plan, PlannedFile, Verdict, index_settings
from ingest.pipeline.reports import IngestReport, Progress
from ingest.pipeline.run import Document, Run, members_of_containers, movable
from ingest.settings import IngestSettings
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Collection

_OPTIMIZE_FROM = 1000  # chunks written in one run, from which rebuilding the indexes pays
_AHEAD = 2  # files read ahead per thread: bounds what parsed documents take of memory


class IngestPipeline:
    """Executes plans on one open collection. Everything it works with is handed in.

    ``parse_threads`` call the parser at the same time; more than one is for a parser that allows it. ``check`` raises,
    before anything is written to the store, if this process has lost the ingest lock of the collection.
    """

    def __init__(
        self,
        *,
        parser: Parser,
        chunker: Chunker,
        embedder: Embedder,
        collection: Collection,
        ledger: Ledger,
        settings: IngestSettings,
        parse_threads: int = 1,
        check: Callable[[], None] = lambda: None,
    ) -> None:
        self._collection = collection
        self._name = collection.spec.collection
        self._ledger = ledger
        self._batch = settings.embed_batch
        self._threads = parse_threads
        self._check = check
        self.index_settings = index_settings(parser, chunker, settings)
        """What it indexes documents with: plans for it are made with these."""
        self._filing = DocumentIngest(
            parser=parser, chunker=chunker, embedder=embedder, collection=collection, ledger=ledger,
            settings=settings, current=self.index_settings, check=check,
        )  # fmt: skip
        self._members = ContainerIngest(self._filing, collection, ledger)

    def ingest(
        self,
        plan: Plan,
        known: Mapping[str, Known],
        progress: Callable[[Progress], None] = lambda _: None,
        *,
        cancelled: Callable[[], bool] = lambda: False,
        planning_seconds: float = 0.0,
    ) -> IngestReport:
        """Execute the plan, which was made from ``known``, the ledger's snapshot of the collection.

        Nothing else may have changed the collection since the snapshot. Once ``cancelled``, no further file is started:
        those on their way are finished, the others wait for the next ingest. ``planning_seconds`` count towards the
        time in the report. Raises StoreError and LedgerUnavailable when it cannot continue; the errors of single files
        are in the report and in the ledger.
        """
        started = time.perf_counter() - planning_seconds
        run = Run(
            plan, known, progress, started, cancelled, movable(plan, known), members_of_containers(known),
            files=len(plan.files),
        )  # fmt: skip
        self._note_discovered(run)
        self._note_settled(run)
        try:
            self._read_all(run)
        finally:
            self._members.close(run)
        self._clean_up(run)
        return run.report()

    # Before anything is read

    def _note_discovered(self, run: Run) -> None:
        """Give every new file, and everything left out, its place in the ledger."""
        files = [
            DocumentRecord(
                collection=self._name, id=document_id(planned.file.document), path=planned.file.document,
                name=planned.file.name, state=DocumentState.DISCOVERED, stage=Stage.READING, size=planned.size,
                container=planned.file.container,
            )
            for planned in run.plan.files
            if planned.verdict is Verdict.NEW
        ]  # fmt: skip
        skipped = [
            DocumentRecord(
                collection=self._name, id=document_id(entry.path), path=entry.path, name=entry.name,
                state=DocumentState.SKIPPED, stage=Stage.READING, reason=entry.reason,
            )
            for entry in run.plan.left_out
            if document_id(entry.path) not in run.known
        ]  # fmt: skip
        self._ledger.discover([*files, *skipped])

    def _note_settled(self, run: Run) -> None:
        """Count the files that need not be opened."""
        for planned in run.plan.files:
            known = run.known.get(document_id(planned.file.document))
            if known and planned.verdict is Verdict.UNCHANGED:
                self._filing.note_unchanged(planned.file, known, known.modified, known.read_at, run)
                self._note_settled_members(run.members.get(known.path, []), run)
            elif known and planned.verdict is Verdict.KNOWN_FAILURE:
                self._note_known_failure(known, run)

    def _note_settled_members(self, members: Sequence[Known], run: Run) -> None:
        """Count what lies in an unchanged container."""
        for member in members:
            if member.state is DocumentState.FAILED:
                run.files += 1
                self._note_known_failure(member, run)
            elif member.state is DocumentState.INDEXED:
                run.files += 1
                run.unchanged += 1

    def _note_known_failure(self, known: Known, run: Run) -> None:
        record = self._ledger.get(self._name, known.id)
        run.failed.extend([record] if record else [])
        run.failed_before += 1

    # File after file

    def _read_all(self, run: Run) -> None:
        """Read every file that has to be read, and embed whenever enough chunks have come together."""
        for document in self._readings(run):
            self._filing.take(document, run)
            self._members.settle(run)
            if sum(len(waiting.chunks) for waiting in run.waiting) >= self._batch:
                self._store_waiting(run)
        while run.waiting:  # a message comes to wait when the last file attached to it was stored
            self._store_waiting(run)

    def _store_waiting(self, run: Run) -> None:
        self._filing.store_waiting(run)
        self._members.settle(run)

    def _readings(self, run: Run) -> Iterator[Document]:
        """The files with what reading them gave, as they are done; some are read ahead while one is worked on."""
        pool = ThreadPoolExecutor(self._threads, thread_name_prefix="parse")
        pending: dict[Future[Reading], Document] = {}
        upcoming = iter(run.to_read)
        try:
            while True:
                while len(pending) < self._threads * _AHEAD and (document := self._next(upcoming, run)):
                    pending[pool.submit(self._filing.read, document)] = document
                if not pending:
                    return
                yield from _done(pending)
        finally:
            pool.shutdown(cancel_futures=True)

    def _next(self, upcoming: Iterator[PlannedFile], run: Run) -> Document | None:
        """The next file to be read: of the containers that are open, else of those that were found."""
        if run.ends_early():
            return None
        for container in list(run.containers.values()):
            if member := self._members.next_member(container, run):
                return member
        planned = next(upcoming, None)
        return self._filing.start(planned.file, planned.size, planned.verdict, run) if planned else None

    # Afterwards

    def _clean_up(self, run: Run) -> None:
        """Remove what is gone from disk, and what an ingest that was killed has left in the store."""
        self._check()
        with run.timed(Stage.STORING):
            for known in () if run.ended_early else run.plan.gone:
                if known.id not in run.removed:
                    remove_document(self._collection, self._ledger, known, "gone from disk")
                    run.removed[known.id] = known.name
            sweep(self._collection, self._ledger, self._name)
            if run.chunks >= _OPTIMIZE_FROM:
                self._collection.optimize()


def _done(pending: dict[Future[Reading], Document]) -> Iterator[Document]:
    """Wait until a file was read; give all that were, in the order in which they were begun."""
    finished, _ = wait(pending, return_when=FIRST_COMPLETED)
    for future in [future for future in pending if future in finished]:
        document = pending.pop(future)
        document.reading = future.result()
        yield document
