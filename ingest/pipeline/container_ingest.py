"""The way of a container through an ingest: archives, and messages with files attached.

What lies in it are files like others. It comes to its own end after they all did, so that one in which an ingest was
killed is opened again.
"""

from __future__ import annotations

from ingest.errors import FileError
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, Stage, document_id
from ingest.ledger.versions import remove_document
from ingest.pipeline.discovery import FoundFile, LeftOut
from ingest.pipeline.document_ingest import DocumentIngest
from ingest.pipeline.open_container import HIDDEN, OpenContainer
from ingest.pipeline.parse_file import defects_cost_one_file
from ingest.pipeline.plan import Verdict
from ingest.pipeline.run import Document, Run
from vectorstore.store import Collection


class ContainerIngest:
    """Gives the files in the containers of a run to be read, and closes the containers."""

    def __init__(self, filing: DocumentIngest, collection: Collection, ledger: Ledger) -> None:
        self._filing = filing
        self._collection = collection
        self._name = collection.spec.collection
        self._ledger = ledger

    def next_member(self, container: Document, run: Run) -> Document | None:
        """The next file of the container that can be read; None after the last, when the container may be done."""
        unpacking = container.unpacking
        try:
            while unpacking and _is_open(container) and (member := self._taken_out(container, unpacking)):
                file, reason = member
                run.files += 1
                if not reason:
                    unpacking.open += 1
                    self._note_member(file, DocumentState.DISCOVERED, "", run)
                    return self._filing.start(file, 0, Verdict.NEW, run)
                state = DocumentState.SKIPPED if reason == HIDDEN else DocumentState.FAILED
                self._note_member(file, state, f"{file.document} is not taken out: {reason}.", run)
        except FileError as error:  # what came out before is read all the same
            container.reading.error = error
        self._close_if_done(container, run)
        return None

    def settle(self, run: Run) -> None:
        """Files have come to their end; the containers that they lay in may have, too."""
        while run.ended:
            container = run.containers.get(run.ended.pop().found.container)
            if container and container.unpacking:
                container.unpacking.open -= 1
                self._close_if_done(container, run)

    def close(self, run: Run) -> None:
        """Remove what was taken out and is still there, when the ingest ends."""
        for container in run.containers.values():
            container.close()

    def _close_if_done(self, container: Document, run: Run) -> None:
        """When all that is in it is done: drop what is there no more, then go on with the container itself."""
        unpacking = container.unpacking
        if unpacking is None or unpacking.open or _is_open(container):
            return
        run.containers.pop(container.found.document).close()
        if container.reading.error:
            self._filing.fail(container, container.reading.error, run)
            return
        for member in run.members.get(container.found.document, []) if unpacking.complete else []:
            if member.path not in unpacking.seen and member.state is not DocumentState.REMOVED:
                remove_document(self._collection, self._ledger, member, "no longer in what held it")
                run.removed[member.id] = member.name
        if container.chunks:
            run.waiting.append(container)
        else:
            self._filing.finish(container, run)

    def _taken_out(self, container: Document, unpacking: OpenContainer) -> tuple[FoundFile, str] | None:
        container.reading.stage = Stage.PARSING
        with defects_cost_one_file(container.found, container.reading):
            return unpacking.next()

    def _note_member(self, file: FoundFile, state: DocumentState, reason: str, run: Run) -> None:
        """Note that it was found, unless it is known, or why it was not taken out."""
        identity = document_id(file.document)
        known = run.known.get(identity)
        if state is DocumentState.DISCOVERED and known and known.state not in (
            DocumentState.REMOVED, DocumentState.SKIPPED
        ):  # fmt: skip
            return
        record = DocumentRecord(
            collection=self._name, id=identity, path=file.document, name=file.name, state=state,
            stage=Stage.READING, reason=reason, container=file.container,
        )  # fmt: skip
        self._ledger.discover([record])
        if state is DocumentState.FAILED:
            run.failed.append(record)
        elif state is DocumentState.SKIPPED:
            run.files -= 1
            run.left_out.append(LeftOut(path=file.document, name=file.name, reason=HIDDEN))


def _is_open(container: Document) -> bool:
    """Whether there may be more in it."""
    return bool(container.unpacking and not container.unpacking.exhausted and not container.reading.error)
