"""Adds an exported run to this data folder."""

from __future__ import annotations

from pydantic import Field

from api.auth.keys import Keys
from api.auth.permissions import Caller, Right
from api.services.exports.run_file import read_run
from base.models import FrozenModel
from multi_agent.storage.archive import RunArchive


class ImportedRun(FrozenModel):
    """An imported run."""

    run_id: str
    collection: str
    has_texts: bool = Field(description="whether it has prompts, responses, quotes and results of tools")


def import_run(
    archive: RunArchive, keys: Keys, caller: Caller, content: bytes, collection: str | None = None
) -> ImportedRun:
    """Store the run of a file, over another collection if one is named.

    The caller needs the right 'write' over the collection. Raises UsageError for a file that is no valid run, RunExists
    for a run that is stored here, CollectionNotFound, Forbidden, LimitReached.
    """
    if collection is not None:
        caller.require(Right.WRITE, collection)
    file = read_run(content)
    run = file.recording.run.model_copy(update={"collection": collection or file.recording.run.collection})
    caller.require(Right.WRITE, run.collection)
    keys.count_upload(caller, len(content))
    archive.add(file.recording.model_copy(update={"run": run}))
    return ImportedRun(run_id=run.run_id, collection=run.collection, has_texts=file.has_texts)
