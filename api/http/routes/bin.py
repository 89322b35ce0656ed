"""The bin, which holds deleted items that can still be restored."""

import asyncio
from typing import Annotated

from fastapi import Path
from pydantic import Field

from api.http.deps import CandorDep, CurrentCaller, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.jobs.handlers import submit_ingest
from api.services.bin import BinEntry
from base.models import FrozenModel
from ingest.pipeline.plan import IngestRequest

router = make_router(prefix="/v1/bin", tags=["bin"])

EntryId = Annotated[
    str, Path(description="Id of the entry.", examples=["0b51c7a2-6a3f-4a52-9a55-6a1f0f0e4a11"], max_length=36)
]


class Restored(FrozenModel):
    """A restored item."""

    entry: BinEntry
    job: str | None = Field(
        default=None, description="Id of the job that embeds the passages of a document. Null if there are none."
    )


@router.get("", responses=problem_responses(503))
def entries(candor: CandorDep, caller: CurrentCaller) -> list[BinEntry]:
    """List the deleted items that you may restore, latest first.

    You may restore what you deleted yourself, and everything in collections that you administer. Deleted items are
    hidden from lists, searches and answers.
    """
    return candor.bin.list(caller)


@router.post("/{entry}/restore", responses=problem_responses(404, 409, 422, 503))
async def restore(candor: CandorDep, parts: PartsDep, caller: CurrentCaller, entry: EntryId) -> Restored:
    """Restore a collection, document, run, table or key. For a document, a job embeds its passages again."""
    found = await asyncio.to_thread(candor.bin.find, entry, caller)
    if not await asyncio.to_thread(candor.bin.restore, found):
        return Restored(entry=found)
    job = await submit_ingest(parts.jobs, IngestRequest(collection=found.collection, repair=True), caller)
    return Restored(entry=found, job=job.id)


@router.delete("/{entry}", status_code=204, responses=problem_responses(404, 409, 422, 503))
def empty(candor: CandorDep, parts: PartsDep, caller: CurrentCaller, entry: EntryId) -> None:
    """Remove an item permanently, with its files and passages."""
    candor.bin.empty([candor.bin.find(entry, caller)], caller.name, parts.pool.drop)
