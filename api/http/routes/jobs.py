"""Jobs: queued work that survives a restart of the service."""

from typing import Annotated

from fastapi import Path, Query

from api.auth.permissions import ALL_COLLECTIONS, Caller, Right
from api.errors import JobDamaged, JobNotFound
from api.http.deps import CurrentCaller, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.jobs.models import Job, JobKind, JobStatus
from api.jobs.runner import Jobs

router = make_router(prefix="/v1/jobs", tags=["jobs"])

JobId = Annotated[
    str, Path(description="Id of the job. A research job has the id of its run.", examples=["run_d65459f7e628"])
]


@router.get("", responses=problem_responses(422, 503))
async def jobs(
    parts: PartsDep,
    caller: CurrentCaller,
    kind: Annotated[JobKind | None, Query(description="Return only jobs of this kind.")] = None,
    status: Annotated[
        tuple[JobStatus, ...], Query(description="Return only jobs in this state. Can be repeated.")
    ] = (),
    collection: Annotated[str | None, Query(description="Return only jobs over this collection.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> list[Job]:
    """List the latest jobs (questions, ingests, evaluations and tables), newest first."""
    return await parts.jobs.list(kind, status, collection, limit, readable=lambda name: caller.may(Right.READ, name))


@router.get("/{job_id}", responses=problem_responses(404, 503))
async def job(parts: PartsDep, caller: CurrentCaller, job_id: JobId) -> Job:
    """Get the state, progress and result of one job."""
    return await _readable(parts.jobs, caller, job_id)


@router.post("/{job_id}/cancel", responses=problem_responses(403, 404, 409, 503))
async def cancel(parts: PartsDep, caller: CurrentCaller, job_id: JobId) -> Job:
    """Cancel a waiting or running job. A job that has ended stays as it is.

    Requires the key that submitted the job, or the right 'admin' over its collection.
    """
    found = await _readable(parts.jobs, caller, job_id)
    if found.key != caller.key:
        caller.require(Right.ADMIN, found.collection)
    return await parts.jobs.cancel(job_id)


async def _readable(jobs: Jobs, caller: Caller, job_id: str) -> Job:
    """Return the job. Raises JobNotFound, also for a job that the caller may not read."""
    try:
        found = await jobs.get(job_id)
    except JobDamaged:
        if caller.may(Right.READ, ALL_COLLECTIONS):  # its collection is unknown
            raise
        raise JobNotFound(job_id) from None
    if not caller.may(Right.READ, found.collection):
        raise JobNotFound(job_id)
    return found
