"""The ingest of a container, which is an archive or a message with attachments.

Members are ingested like other files. A container is marked as finished only after all of its members, so that the next
ingest opens it again if this ingest is killed.
"""

from __future__ import annotations

from collections.abc import Sequence

from ingest.errors import FileError
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, Stage, document_id
from ingest.ledger.versions import remove_documents
from ingest.pipeline.discovery import FoundFile, SkippedFile
from ingest.pipeline.document_ingest import DocumentIngest
from ingest.pipeline.open_container import HIDDEN, OpenContainer
from ingest.pipeline.parse_file import wrap_internal_errors
from ingest.pipeline.plan import Verdict
from ingest.pipeline.state import DocumentInProgress, IngestState
from vectorstore.store import Collection

_EXTRACT = "If you trust it, extract it yourself and ingest it."
_ABSENT = (DocumentState.REMOVED, DocumentState.SKIPPED)


class ContainerIngest:
    """Lists the members of open containers and closes the containers."""

    def __init__(self, documents: DocumentIngest, collection: Collection, ledger: Ledger) -> None:
        self._documents = documents
        self._collection = collection
        self._name = collection.spec.collection
        self._ledger = ledger

    def next_member(self, container: DocumentInProgress, state: IngestState) -> DocumentInProgress | None:
        """Return the next member that can be read. Return None after the last."""
        unpacking = container.unpacking
        try:
            while unpacking and _is_open(container) and (member := self._extract_next(container, unpacking)):
                file, reason = member
                state.files += 1
                if not reason:
                    unpacking.open += 1
                    return self._documents.prepare(file, 0, Verdict.NEW, state)
                self._record_left_out(file, reason, state)
        except FileError as error:  # earlier members are still ingested
            container.result.error = error
        self._close_if_done(container, state)
        return None

    def close_finished(self, state: IngestState) -> None:
        """Remove finished members from the counts of their containers, and close finished containers."""
        while state.finished:
            container = state.containers.get(state.finished.pop().found.container)
            if container and container.unpacking:
                container.unpacking.open -= 1
                self._close_if_done(container, state)

    def close(self, state: IngestState) -> None:
        """Delete the remaining extracted members at the end of the ingest."""
        for container in state.containers.values():
            self._documents.release(container)

    def _close_if_done(self, container: DocumentInProgress, state: IngestState) -> None:
        """If all members are done, finish the container and remove documents that it no longer contains."""
        unpacking = container.unpacking
        if unpacking is None or unpacking.open or _is_open(container):
            return
        self._documents.release(state.containers.pop(container.found.document))
        if container.result.error:
            self._documents.fail(container, container.result.error, state)
            return
        gone = [
            member
            for member in state.members.get(container.found.document, [])
            if unpacking.complete and member.path not in unpacking.seen and member.state is not DocumentState.REMOVED
        ]
        remove_documents(self._collection, self._ledger, gone, "no longer in its container")
        state.removed.update((member.id, member.name) for member in gone)
        if container.chunks:
            state.waiting.append(container)
        else:
            self._documents.finish([container], state)

    def _extract_next(self, container: DocumentInProgress, unpacking: OpenContainer) -> tuple[FoundFile, str] | None:
        container.result.stage = Stage.PARSING
        with wrap_internal_errors(container.found, container.result):
            return unpacking.next()

    def record_members(self, documents: Sequence[DocumentInProgress], state: IngestState) -> None:
        """Record the members among these documents that are new."""
        members = [each.found for each in documents if each.found.container]
        known = {member.document: state.known.get(document_id(member.document)) for member in members}
        new = [member for member in members if (before := known[member.document]) is None or before.state in _ABSENT]
        if new:
            self._ledger.discover([self._record(member, DocumentState.DISCOVERED) for member in new])
        if first := [member for member in members if known[member.document] is None]:
            self._inherit_tags(first)

    def _record_left_out(self, file: FoundFile, reason: str, state: IngestState) -> None:
        """Record the reason why a member was not extracted."""
        outcome = DocumentState.SKIPPED if reason == HIDDEN else DocumentState.FAILED
        record = self._record(file, outcome, f"{file.document} was not extracted: {reason}. {_EXTRACT}")
        self._ledger.discover([record])
        if document_id(file.document) not in state.known:
            self._inherit_tags([file])
        if outcome is DocumentState.FAILED:
            state.failed.append(record)
        else:
            state.files -= 1
            state.left_out.append(SkippedFile(path=file.document, name=file.name, reason=HIDDEN))

    def _inherit_tags(self, members: Sequence[FoundFile]) -> None:
        containers = {document_id(each.document): document_id(each.container) for each in members}
        self._ledger.inherit_tags(self._name, containers)

    def _record(self, file: FoundFile, outcome: DocumentState, reason: str = "") -> DocumentRecord:
        return DocumentRecord(
            collection=self._name, id=document_id(file.document), path=file.document, name=file.name, state=outcome,
            stage=Stage.READING, reason=reason, container=file.container,
        )  # fmt: skip


def _is_open(container: DocumentInProgress) -> bool:
    """Return whether the container may have more members."""
    return bool(container.unpacking and not container.unpacking.exhausted and not container.result.error)
