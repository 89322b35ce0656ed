"""Adds a file of a run to the collection of the run. Only users can do this. Tools cannot."""

from api.auth.keys import Keys
from api.auth.permissions import Caller, Right
from api.errors import UsageError
from api.services.catalog.tools import find_file
from api.services.documents.collections import Collections
from api.services.research.runs import find_run
from api.storage.uploads import safe_name
from ingest.pipeline.plan import IngestRequest
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from vectorstore.models import SEPARATOR


def keep_file(
    toolbox: Toolbox, trace: Trace, collections: Collections, keys: Keys, run_id: str, name: str, caller: Caller
) -> IngestRequest:
    """Store a copy of the file as an upload, with its URL. Return the ingest job for it.

    Raises RunNotFound, CollectionNotFound, InBin, Forbidden, FileNotThere, LimitReached, UsageError, HomeError.
    """
    run = find_run(trace, run_id, caller)
    caller.require(Right.WRITE, run.collection)
    collections.require_kept(run.collection)
    if SEPARATOR in run.collection:
        raise UsageError(f"{run.run_id} asked several collections. Save the file and upload it to one of them.")
    file = find_file(toolbox, trace, run.run_id, name, caller)
    origin = toolbox.sandbox(run.run_id).origin(name)
    keys.count_upload(caller, file.stat().st_size)
    path = collections.uploads.add_copy(run.collection, safe_name(name), file, origin.url if origin else "")
    return IngestRequest(collection=run.collection, paths=(path,))
