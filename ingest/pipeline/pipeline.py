"""Executes an ingest plan: reads, parses, chunks, embeds and stores files, and records each in the ledger.

A file that fails does not stop the others. If the store or the ledger fails, the ingest stops, and finished files are
kept. Files are read and parsed ahead in threads while others are embedded. If the process is killed, the next ingest
continues.
"""

import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from ingest.chunking.chunker import Chunker
from ingest.containers.unpack import ContainerLimits, expand
from ingest.errors import FileError, IngestCancelled
from ingest.ledger.interrupts import is_interrupted
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import STARTED, DocumentState, DocumentSummary, FieldSource, Stage, Touched
from ingest.ledger.versions import delete_hidden_chunks, remove_documents
from ingest.parser import Parser
from ingest.pipeline.discovery import FoundFile, SkippedFile
from ingest.pipeline.file import HIDDEN, IngestFile, OpenContainer, Unpack
from ingest.pipeline.moves import Identities, is_missing, members_by_container
from ingest.pipeline.outcomes import Outcomes, found_record
from ingest.pipeline.parse_file import wrap_internal_errors
from ingest.pipeline.plan import IndexSettings, Plan, PlannedFile, Verdict, index_settings
from ingest.pipeline.publisher import Publisher
from ingest.pipeline.read_ahead import Copies, FileReader, ReadAhead
from ingest.pipeline.rules import NO_DOCUMENT
from ingest.pipeline.tally import IngestReport, Progress, Tally
from ingest.settings import IngestSettings
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Collection

_EXTRACT = "If you trust it, extract it yourself and ingest it."
_ABSENT = (DocumentState.REMOVED, DocumentState.SKIPPED)
_TRIED = (DocumentState.FAILED, DocumentState.DISCOVERED, *STARTED)


@dataclass(frozen=True, kw_only=True)
class IngestPipeline:
    """Executes plans on one open collection.

    ``parse_threads`` is the number of threads that call the parser in parallel; the parser must support it. ``check``
    is called before each write to the store and raises if this process has lost the ingest lock of the collection. With
    ``copies``, the pipeline reads only files inside their boundary. ``unpack`` opens containers.
    """

    parser: Parser
    chunker: Chunker
    embedder: Embedder
    collection: Collection
    ledger: Ledger
    settings: IngestSettings
    parse_threads: int = 1
    check: Callable[[], None] = lambda: None
    copies: Copies | None = None
    unpack: Unpack = expand

    @cached_property
    def index_settings(self) -> IndexSettings:
        """The parser and chunking of this pipeline. Plans for the pipeline are made with the same settings."""
        return index_settings(self.parser, self.chunker, self.settings)

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
        to_read = [planned.size for planned in plan.files if planned.is_read]
        tally = Tally(len(plan.files), progress, cancelled, sum(to_read), time.perf_counter() - planning_seconds)
        self.ledger.relocate(plan.collection, plan.relocated, plan.left_behind)
        forgotten = {each.id for each in plan.left_behind}
        known = {identity: each for identity, each in known.items() if identity not in forgotten}
        known |= {each.id: each for each in plan.relocated}
        run = _Run(self, plan, known, tally)
        run.record_discovered()
        run.count_settled()
        try:
            run.read_all()
        except IngestCancelled:
            tally.was_cancelled = True
        except (KeyboardInterrupt, RuntimeError) as error:
            if not is_interrupted(error):
                raise
            self.ledger.requeue_unfinished(plan.collection)
            raise KeyboardInterrupt from error
        if tally.was_cancelled:  # the next ingest reuses the vectors of unfinished files
            self.ledger.requeue_unfinished(plan.collection)
        else:
            self._clean_up(plan, tally)
        return tally.report(plan)

    def _clean_up(self, plan: Plan, tally: Tally) -> None:
        """Remove documents whose files are missing, and delete the chunks that a killed ingest left in the store."""
        self.check()
        with tally.timed(Stage.STORING):
            gone = [known for known in plan.gone if known.id not in tally.removed]
            remove_documents(self.collection, self.ledger, gone, "gone from disk")
            tally.removed.update((known.id, known.name) for known in gone)
            delete_hidden_chunks(self.collection, self.ledger, plan.collection)


class _Run:
    """The execution of one plan.

    The members of containers are ingested like other files. A container is finished after all of its members, so that
    the next ingest opens it again if this one is killed.
    """

    def __init__(
        self, pipeline: IngestPipeline, plan: Plan, known: Mapping[str, DocumentSummary], tally: Tally
    ) -> None:
        self._pipeline, self._plan, self._known, self._tally = pipeline, plan, known, tally
        self._name, self._ledger, settings = plan.collection, pipeline.ledger, pipeline.settings
        self._current = pipeline.index_settings
        self._reader = FileReader(self._current, pipeline.chunker, settings.max_file_mb, pipeline.copies)
        publisher = Publisher(
            self._name,
            pipeline.collection,
            self._ledger,
            pipeline.embedder,
            settings.embed_batch,
            pipeline.check,
            tally,
        )
        self._outcomes = Outcomes(self._name, self._ledger, publisher, tally)
        self._waiting: list[IngestFile] = []  # to be embedded
        self._containers: list[OpenContainer] = []
        self._movable = _moved_or_gone(plan, known)
        self._members = members_by_container(known)
        self._ids = Identities(known)
        self._moved = {each.id for each in plan.relocated}

    def record_discovered(self) -> None:
        """Record every new file and every skipped entry in the ledger, and tag and describe the documents."""
        files = [
            found_record(self._name, planned.file, size=planned.size)
            for planned in self._plan.files
            if planned.verdict is Verdict.NEW
        ]
        skipped = [
            found_record(self._name, file, DocumentState.SKIPPED, entry.reason)
            for entry in self._plan.left_out
            if (file := self._file_of(entry)).id not in self._known
        ]
        self._ledger.record(*files, *skipped)
        if self._plan.tags:
            self._ledger.tag(self._name, list(self._documents()), add=self._plan.tags)
        if meta := self._plan.meta:
            given = dict.fromkeys(self._documents(), meta)
            self._ledger.describe(self._name, FieldSource.REQUEST, given, keep=True)
        self._ledger.describe(self._name, FieldSource.COLUMNS, self._plan.fields, keep=False)

    def _file_of(self, entry: SkippedFile) -> FoundFile:
        return FoundFile(path=Path(entry.path), document=entry.path, name=entry.name, id=self._ids.of(entry.path))

    def _documents(self) -> Iterator[str]:
        """Yield the ids of all documents of the plan, with the known members of containers at any depth."""
        documents = [(planned.file.document, planned.file.id) for planned in self._plan.files]
        for path, identity in documents:
            yield identity
            documents.extend((member.path, member.id) for member in self._members.get(path, ()))

    def count_settled(self) -> None:
        """Count the files that the plan does not read. Their names may have changed with the ingested folder."""
        renamed: list[Touched] = []
        for planned in self._plan.files:
            known = self._known.get(planned.file.id)
            if known and planned.verdict is Verdict.UNCHANGED:
                if known.name != planned.file.name:
                    renamed.append(Touched(known.id, planned.file.name, known.modified, known.read_at))
                self._tally.unchanged += 1
                self._tally.report_progress(planned.file.name, Stage.READING)
                self._count_members(self._members.get(known.path, []))
            elif known and planned.verdict is Verdict.KNOWN_FAILURE:
                self._count_known_failure(known)
        self._ledger.touch(self._name, renamed)

    def _count_members(self, members: Sequence[DocumentSummary]) -> None:
        """Count the members of an unchanged container."""
        for member in members:
            if member.state is DocumentState.FAILED:
                self._tally.files += 1
                self._count_known_failure(member)
            elif member.state is DocumentState.INDEXED:
                self._tally.files += 1
                self._tally.unchanged += 1

    def _count_known_failure(self, known: DocumentSummary) -> None:
        record = self._ledger.get(self._name, known.id)
        self._tally.failed.extend([record] if record else [])
        self._tally.failed_before += 1

    def read_all(self) -> None:
        """Read every file of the plan. Embed whenever there are enough chunks for a batch."""
        try:
            with closing(self._results()) as results:  # otherwise, a second Ctrl-C is lost in its garbage collection
                for files in results:
                    self._process(files)
                    if sum(len(waiting.chunks) for waiting in self._waiting) >= self._pipeline.settings.embed_batch:
                        self._publish_waiting()
            while self._waiting and not self._tally.check_cancelled():  # a message waits for its last attachment
                self._publish_waiting()
        finally:
            for container in self._containers:
                self._reader.release(container.file)

    def _publish_waiting(self) -> None:
        files, self._waiting = self._waiting, []
        self._outcomes.publish(files)
        self._close_finished()

    def _results(self) -> Generator[list[IngestFile]]:
        """Yield the files that have been read. Others are read meanwhile."""
        upcoming = (planned for planned in self._plan.files if planned.is_read)
        with ReadAhead(self._reader.read, self._pipeline.parse_threads) as ahead:
            while True:
                if ahead.is_low:
                    started = list(self._next(upcoming, ahead))
                    self._record_members(started)
                    self._outcomes.advance(started, DocumentState.PARSING, Stage.READING)
                    ahead.start(started)
                if not ahead:
                    return
                yield ahead.wait()

    def _next(self, upcoming: Iterator[PlannedFile], ahead: ReadAhead) -> Iterator[IngestFile]:
        """Yield members of open containers, then files of the plan, while there is room."""
        for container in list(self._containers):
            while self._has_room(ahead) and (member := self._next_member(container)):
                ahead.add(member)
                yield member
        while self._has_room(ahead) and (planned := next(upcoming, None)):
            file = self._file(planned.file, planned.verdict, planned.size)
            ahead.add(file)
            yield file

    def _has_room(self, ahead: ReadAhead) -> bool:
        return ahead.has_room and not self._tally.check_cancelled()

    def _file(
        self, found: FoundFile, verdict: Verdict, size: int = 0, holder: OpenContainer | None = None
    ) -> IngestFile:
        known = self._known.get(found.id)
        return IngestFile(
            found, self._current.parser_version(found.document), self._current.chunking, size, known,
            attempts=1 + (known.attempts if known and known.state in _TRIED else 0),
            reread=verdict in (Verdict.RETRY, Verdict.SETTINGS) or found.id in self._moved, holder=holder,
        )  # fmt: skip

    def _process(self, files: Sequence[IngestFile]) -> None:
        """Process files that were read. Queue them for embedding, or open them if they are containers."""
        for file in files:
            if file.holder:
                file.holder.release(file.found)
            for stage, seconds in file.seconds.items():
                self._tally.add_seconds(stage, seconds)
            if file.error:
                self._outcomes.fail(file, file.error)
            elif not file.is_unchanged:
                self._accept(file)
        self._outcomes.keep([each for each in files if each.is_unchanged and not each.error])
        for file in files:
            if not file.members:
                self._reader.release(file)
        self._close_finished()

    def _accept(self, file: IngestFile) -> None:
        """Open the container, or queue the document. Nested containers are unpacked with the outermost one."""
        if file.parsed:
            self._tally.report_progress(file.found.name, Stage.CHUNKING)
            file.moved_from = self._moved_from(file)
        if file.container and not file.holder:
            limits = ContainerLimits(member_mb=self._pipeline.settings.max_file_mb)
            file.members = OpenContainer(file, limits, self._pipeline.unpack)
            self._containers.append(file.members)
        else:
            self._waiting.append(file)

    def _moved_from(self, file: IngestFile) -> DocumentSummary | None:
        """Return the document with the same content whose file is missing because it was moved or renamed, or None."""
        candidates = self._movable.get(file.version, [])
        moved = next((known for known in candidates if is_missing(known)), None)
        if moved:
            candidates.remove(moved)
        return moved

    # Containers

    def _next_member(self, container: OpenContainer) -> IngestFile | None:
        """Return the next member that can be read. Return None after the last."""
        try:
            while container.is_open and (member := self._extract_next(container)):
                found, reason = member[0].model_copy(update={"id": self._ids.of(member[0].document)}), member[1]
                self._tally.files += 1
                if not reason:
                    container.unfinished += 1
                    return self._file(found, Verdict.NEW, holder=container)
                self._record_left_out(found, reason)
        except FileError as error:  # earlier members are still ingested
            container.file.error = error
        self._close_finished()
        return None

    def _extract_next(self, container: OpenContainer) -> tuple[FoundFile, str] | None:
        container.file.stage = Stage.PARSING
        with wrap_internal_errors(container.file):
            return container.next()

    def _record_members(self, files: Sequence[IngestFile]) -> None:
        """Record the members among these files that are new."""
        members = [each for each in files if each.holder]
        if new := [each for each in members if each.previous is None or each.previous.state in _ABSENT]:
            self._ledger.record(*(found_record(self._name, each.found) for each in new))
        self._inherit([each.found for each in members if each.previous is None])

    def _record_left_out(self, file: FoundFile, reason: str) -> None:
        """Record the reason why a member was not extracted."""
        is_skipped = reason == HIDDEN or reason.startswith(NO_DOCUMENT)
        outcome = DocumentState.SKIPPED if is_skipped else DocumentState.FAILED
        record = found_record(self._name, file, outcome, f"{file.document} was not extracted: {reason}. {_EXTRACT}")
        self._ledger.record(record)
        if record.id not in self._known:
            self._inherit([file])
        if outcome is DocumentState.FAILED:
            self._tally.failed.append(record)
        else:
            self._tally.leave_out(record, reason)

    def _inherit(self, members: Sequence[FoundFile]) -> None:
        if members:
            self._ledger.inherit(self._name, {each.id: self._ids.of(each.container) for each in members})

    def _close_finished(self) -> None:
        """Finish the containers whose members are all done, and remove documents that they no longer contain."""
        for container in [each for each in self._containers if each.is_finished]:
            file = container.file
            self._containers.remove(container)
            self._reader.release(file)
            if file.error:
                self._outcomes.fail(file, file.error)
                continue
            gone = [each for each in self._members.get(file.found.document, []) if container.has_lost(each)]
            remove_documents(self._pipeline.collection, self._ledger, gone, "no longer in its container")
            self._tally.removed.update((member.id, member.name) for member in gone)
            self._waiting.append(file)


def _moved_or_gone(plan: Plan, known: Mapping[str, DocumentSummary]) -> dict[str, list[DocumentSummary]]:
    """Return the indexed documents that were not found, by content: their files may have been moved."""
    found = {planned.file.id for planned in plan.files}
    candidates: dict[str, list[DocumentSummary]] = {}
    for entry in known.values():
        if entry.chunks and entry.id not in found:
            candidates.setdefault(entry.version, []).append(entry)
    return candidates
