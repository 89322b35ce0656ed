"""Adds an exported run to this data folder. Its basis says who imported it, because anybody can write such a file."""

import secrets
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

from pydantic import Field

from api.auth.keys import Keys
from api.auth.permissions import Caller, Right
from api.services.documents.documents import Documents
from api.services.exports.run_file import read_run
from api.services.research.kept_text import place_in
from base.models import FrozenModel
from ingest.errors import DocumentNotFound
from ingest.ledger.records import DocumentText
from multi_agent.errors import RunExists, RunNotFound
from multi_agent.settings.research import ResearchSettings
from multi_agent.storage.recording import Recording, RunArchive
from multi_agent.storage.tables import Environment
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import IMPORTED, Answer
from vectorstore.errors import CollectionNotFound
from vectorstore.joined import part_of


class ImportedRun(FrozenModel):
    """An imported run."""

    run_id: str = Field(description="that of the file, or a new one if a run of another collection has it")
    collection: str
    has_texts: bool = Field(description="whether it has prompts, responses, quotes and results of tools")


@dataclass(frozen=True)
class RunImport:
    """Imports runs of files, which may be forged."""

    archive: RunArchive
    trace: Trace
    documents: Documents
    keys: Keys
    settings: ResearchSettings

    def add(self, caller: Caller, content: bytes, collection: str | None = None) -> ImportedRun:
        """Store the run of a file. ``collection`` replaces the one that it names.

        The caller needs the right 'write' over the collection. Raises UsageError for a file that is no valid run,
        RunExists for a run that the caller has here, CollectionNotFound, Forbidden, LimitReached.
        """
        if collection is not None:
            caller.require(Right.WRITE, collection)
        file = read_run(content)
        collection = collection or file.recording.run.collection
        caller.require(Right.WRITE, collection)
        self.keys.count_upload(caller, len(content))
        recording = self._marked(file.recording, collection, caller)
        try:
            self.archive.add(recording)
        except RunExists:
            with suppress(RunNotFound):
                self.trace.run(recording.run.run_id, among=caller.readable)
                raise
            recording = recording.renamed(f"run_{secrets.token_hex(6)}")
            self.archive.add(recording)
        return ImportedRun(run_id=recording.run.run_id, collection=collection, has_texts=file.has_texts)

    def _marked(self, recording: Recording, collection: str, caller: Caller) -> Recording:
        """Return the run with its importer as its basis, without runs of other collections and higher limits."""
        run, answer, environment = recording.run, recording.answer, recording.environment
        origins = {name: self._known(getattr(run, name), collection) for name in ("continues", "forked_from")}
        basis = f"{IMPORTED}{datetime.now(UTC):%Y-%m-%d} by {caller.name}, {self._checked(answer, collection)}"
        return recording.model_copy(
            update={
                "run": run.model_copy(update={"collection": collection, **origins}),
                "answer": answer.model_copy(update={"basis": basis}),
                "environment": environment and _limited(environment, self.settings),
            }
        )

    def _known(self, run_id: str, collection: str) -> str:
        with suppress(RunNotFound):
            found = self.trace.run(run_id) if run_id else None
            return run_id if found and (found.run_id, found.collection) == (run_id, collection) else ""
        return ""

    def _checked(self, answer: Answer, collection: str) -> str:
        """Return how many quotes of documents the collection contains. Pictures and web pages are not checked."""
        quotes = [quote for quote in answer.evidence if quote.origin is None]
        texts = {quote.document_id: self._text(quote.document_id, quote.name, collection) for quote in quotes}
        found = [q for q in quotes if not q.picture and (text := texts[q.document_id]) and place_in(text, q)]
        return f"{len(found)} of {len(quotes)} quotes of documents found in the collection"

    def _text(self, document_id: str, name: str, collection: str) -> DocumentText | None:
        with suppress(DocumentNotFound, CollectionNotFound):
            return self.documents.text(self.documents.find(document_id, part_of(collection, name)))
        return None


def _limited(environment: Environment, settings: ResearchSettings) -> Environment:
    """Return the environment without limits above those of this data folder, which a replay would use."""
    ours = settings.model_dump(mode="json")
    lower = {
        name: min(value, limit)
        for name, value in environment.settings.items()
        if isinstance(value, int | float) and isinstance(limit := ours.get(name), int | float)
    }
    return environment.model_copy(update={"settings": {**environment.settings, **lower}})
