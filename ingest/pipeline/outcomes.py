"""Brings files to their terminal states: indexed, unchanged, failed or skipped. Records each in the ledger.

Many files are recorded together, because a transaction of the database takes longer than a small file.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from ingest.errors import EmptyImage, FileError
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, Stage, Touched, document_id
from ingest.pipeline.discovery import FoundFile, printable
from ingest.pipeline.file import IngestFile
from ingest.pipeline.publisher import Publisher
from ingest.pipeline.tally import Tally


class Outcomes:
    """Stores the outcome of each file of an ingest into the collection ``name``."""

    def __init__(self, name: str, ledger: Ledger, publisher: Publisher, tally: Tally) -> None:
        self._name, self._ledger, self._publisher, self._tally = name, ledger, publisher, tally

    def advance(self, files: Sequence[IngestFile], reached: DocumentState, stage: Stage) -> None:
        """Record the state that the files have reached."""
        self._ledger.advance(self._name, reached, stage, {each.id: each.attempts for each in files})
        for file in files:
            self._tally.report_progress(file.found.name, stage)

    def fail(self, file: IngestFile, error: FileError) -> None:
        """Record why the file failed. Its indexed version stays searchable, and its record still describes it.

        An image without text in a message or an archive is skipped, because it is probably a logo or a photo.
        """
        record = (self._ledger.get(self._name, file.id) if file.is_indexed else None) or file.record(self._name)
        is_skipped = bool(file.holder) and isinstance(error, EmptyImage) and not file.is_indexed
        record = record.model_copy(
            update={
                "state": DocumentState.SKIPPED if is_skipped else DocumentState.FAILED,
                "stage": file.stage,
                "reason": printable(str(error).replace(str(file.found.path), file.found.document)),
                "seconds": file.seconds,
                "attempts": file.attempts,
                "updated_at": datetime.now(UTC),
            }
        )
        self._ledger.record(record)
        if is_skipped:
            self._tally.leave_out(record, record.reason)
        else:
            self._tally.failed.append(record)
        self._end(file, file.stage)

    def keep(self, files: Sequence[IngestFile]) -> None:
        """Count files whose content is already indexed, and record what else has changed."""
        touched = [Touched(each.id, each.found.name, each.modified, each.read_at) for each in files]
        self._ledger.touch(self._name, touched)
        for file in files:
            self._tally.unchanged += 1
            self._end(file, Stage.READING)

    def publish(self, files: Sequence[IngestFile]) -> None:
        """Embed and store the chunks of the files. Searches see each document when its last chunk is stored."""
        self.advance(files, DocumentState.EMBEDDING, Stage.EMBEDDING)
        by_id = {each.id: each for each in files}
        chunks = sum(len(each.chunks) for each in files)
        self._tally.bytes_per_chunk = sum(each.size for each in files) / max(1, chunks)
        for published in self._publisher.publish([each.publication(self._name) for each in files]):
            for document in published:
                self._tally.count_indexed(document)
                self._end(by_id[document.record.id], Stage.STORING)

    def _end(self, file: IngestFile, stage: Stage) -> None:
        self._tally.end_file(file.size)
        self._tally.report_progress(file.found.name, stage)
        if file.holder:
            file.holder.unfinished -= 1


def found_record(
    collection: str, file: FoundFile, state: DocumentState = DocumentState.DISCOVERED, reason: str = "", size: int = 0
) -> DocumentRecord:
    """Return the record of a file that was not read."""
    return DocumentRecord(
        collection=collection, id=file.id or document_id(file.document), path=file.document, name=file.name,
        state=state, stage=Stage.READING, reason=reason, size=size, container=file.container,
    )  # fmt: skip
