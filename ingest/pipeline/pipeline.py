"""Executes an ingest plan: reads, parses, chunks, embeds and stores files, and records each in the ledger.

A file that fails does not stop the others. If the store or the ledger fails, the ingest stops, and finished files are
kept. Files are read and parsed ahead in threads while others are embedded. If the process is killed, the next ingest
continues.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing

from ingest.chunking.chunker import Chunker
from ingest.containers.unpack import expand
from ingest.errors import IngestCancelled
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, DocumentSummary, Stage, Touched, document_id
from ingest.ledger.versions import delete_hidden_chunks, remove_documents
from ingest.parser import Parser
from ingest.pipeline.container_ingest import ContainerIngest
from ingest.pipeline.copies import Copies
from ingest.pipeline.document_ingest import DocumentIngest
from ingest.pipeline.open_container import Unpack
from ingest.pipeline.plan import Plan, PlannedFile, Verdict, index_settings
from ingest.pipeline.read_ahead import ReadAhead
from ingest.pipeline.reports import IngestReport, Progress
from ingest.pipeline.state import DocumentInProgress, IngestState, group_members, move_candidates
from ingest.settings import IngestSettings
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Collection


class IngestPipeline:
    """Executes plans on one open collection.

    ``parse_threads`` is the number of threads that call the parser in parallel; the parser must support it. ``check``
    is called before each write to the store and raises if this process has lost the ingest lock of the collection. With
    ``copies``, the pipeline reads only files inside their boundary. ``unpack`` opens containers.
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
        copies: Copies | None = None,
        unpack: Unpack = expand,
    ) -> None:
        self._collection = collection
        self._name = collection.spec.collection
        self._ledger = ledger
        self._batch = settings.embed_batch
        self._threads = parse_threads
        self._check = check
        self.index_settings = index_settings(parser, chunker, settings)
        """The parser and chunking of this pipeline. Plans for the pipeline are made with the same settings."""
        self._documents = DocumentIngest(
            parser=parser, chunker=chunker, embedder=embedder, collection=collection, ledger=ledger,
            settings=settings, current=self.index_settings, check=check, copies=copies, unpack=unpack,
        )  # fmt: skip
        self._containers = ContainerIngest(self._documents, collection, ledger)

    def ingest(
        self,
        plan: Plan,
        known: Mapping[str, DocumentSummary],
        progress: Callable[[Progress], None] = lambda _: None,
        *,
        cancelled: Callable[[], bool] = lambda: False,
        planning_seconds: float = 0.0,
    ) -> IngestReport:
        """Execute the plan. ``known`` is the ledger's snapshot of the collection from which the plan was made.

        The caller ensures that nothing else has changed the collection since the snapshot. After ``cancelled`` returns
        true, the ingest stops within seconds. Files in progress stay as they were, and the next ingest reads them. The
        time in the report includes ``planning_seconds``.

        Raises StoreError and LedgerUnavailable, which stop the ingest. Errors of single files are in the report and in
        the ledger.
        """
        started = time.perf_counter() - planning_seconds
        state = IngestState(
            plan, known, progress, started, cancelled, move_candidates(plan, known), group_members(known),
            files=len(plan.files),
        )  # fmt: skip
        self._record_discovered(state)
        self._count_settled(state)
        try:
            self._read_all(state)
        except IngestCancelled:
            state.was_cancelled = True
        except KeyboardInterrupt:
            self._ledger.requeue_unfinished(self._name)
            raise
        finally:
            self._containers.close(state)
        if state.was_cancelled:  # the next ingest reuses the vectors of unfinished files
            self._ledger.requeue_unfinished(self._name)
        else:
            self._clean_up(state)
        return state.report()

    def _record_discovered(self, state: IngestState) -> None:
        """Record every new file and every skipped entry in the ledger."""
        files = [
            DocumentRecord(
                collection=self._name, id=document_id(planned.file.document), path=planned.file.document,
                name=planned.file.name, state=DocumentState.DISCOVERED, stage=Stage.READING, size=planned.size,
                container=planned.file.container,
            )
            for planned in state.plan.files
            if planned.verdict is Verdict.NEW
        ]  # fmt: skip
        skipped = [
            DocumentRecord(
                collection=self._name, id=document_id(entry.path), path=entry.path, name=entry.name,
                state=DocumentState.SKIPPED, stage=Stage.READING, reason=entry.reason,
            )
            for entry in state.plan.left_out
            if document_id(entry.path) not in state.known
        ]  # fmt: skip
        self._ledger.discover([*files, *skipped])
        if state.plan.tags:
            self._ledger.tag(self._name, list(_documents_of(state)), add=state.plan.tags)

    def _count_settled(self, state: IngestState) -> None:
        """Count the files that the plan does not read. Their names may have changed with the ingested folder."""
        renamed: list[Touched] = []
        for planned in state.plan.files:
            known = state.known.get(document_id(planned.file.document))
            if known and planned.verdict is Verdict.UNCHANGED:
                if known.name != planned.file.name:
                    renamed.append(Touched(known.id, planned.file.name, known.modified, known.read_at))
                state.count_unchanged(planned.file.name)
                self._count_members(state.members.get(known.path, []), state)
            elif known and planned.verdict is Verdict.KNOWN_FAILURE:
                self._count_known_failure(known, state)
        self._ledger.touch(self._name, renamed)

    def _count_members(self, members: Sequence[DocumentSummary], state: IngestState) -> None:
        """Count the members of an unchanged container."""
        for member in members:
            if member.state is DocumentState.FAILED:
                state.files += 1
                self._count_known_failure(member, state)
            elif member.state is DocumentState.INDEXED:
                state.files += 1
                state.unchanged += 1

    def _count_known_failure(self, known: DocumentSummary, state: IngestState) -> None:
        record = self._ledger.get(self._name, known.id)
        state.failed.extend([record] if record else [])
        state.failed_before += 1

    def _read_all(self, state: IngestState) -> None:
        """Read every file of the plan. Embed whenever there are enough chunks for a batch."""
        with closing(self._results(state)) as results:  # otherwise, a second Ctrl-C is lost in its garbage collection
            for documents in results:
                self._documents.process(documents, state)
                self._containers.close_finished(state)
                if sum(len(waiting.chunks) for waiting in state.waiting) >= self._batch:
                    self._store_waiting(state)
        while state.waiting and not state.check_cancelled():  # a message is added after its last attachment was stored
            self._store_waiting(state)

    def _store_waiting(self, state: IngestState) -> None:
        self._documents.store_waiting(state)
        self._containers.close_finished(state)

    def _results(self, state: IngestState) -> Generator[list[DocumentInProgress]]:
        """Yield the files that have been read. Others are read meanwhile."""
        upcoming = iter(state.to_read)
        with ReadAhead(self._documents.read, self._threads) as ahead:
            while True:
                if ahead.is_low:
                    started = list(self._next(upcoming, ahead, state))
                    self._containers.record_members(started, state)
                    self._documents.start(started, state)
                    ahead.start(started)
                if not ahead:
                    return
                yield ahead.wait()

    def _next(
        self, upcoming: Iterator[PlannedFile], ahead: ReadAhead, state: IngestState
    ) -> Iterator[DocumentInProgress]:
        """Yield members of open containers, then files of the plan, while there is room."""
        for container in list(state.containers.values()):
            while self._has_room(ahead, state) and (member := self._containers.next_member(container, state)):
                ahead.add(member)
                yield member
        while self._has_room(ahead, state) and (planned := next(upcoming, None)):
            document = self._documents.prepare(planned.file, planned.size, planned.verdict, state)
            ahead.add(document)
            yield document

    def _has_room(self, ahead: ReadAhead, state: IngestState) -> bool:
        return ahead.has_room and not state.check_cancelled()

    def _clean_up(self, state: IngestState) -> None:
        """Remove documents whose files are missing, and delete the chunks that a killed ingest left in the store."""
        self._check()
        with state.timed(Stage.STORING):
            gone = [known for known in state.plan.gone if known.id not in state.removed]
            remove_documents(self._collection, self._ledger, gone, "gone from disk")
            state.removed.update((known.id, known.name) for known in gone)
            delete_hidden_chunks(self._collection, self._ledger, self._name)


def _documents_of(state: IngestState) -> Iterator[str]:
    """Yield the id of every document in the plan.

    For a container, also yield the ids of its known members, including members of nested containers.
    """
    paths = [planned.file.document for planned in state.plan.files]
    for path in paths:
        yield document_id(path)
        paths.extend(member.path for member in state.members.get(path, ()))
