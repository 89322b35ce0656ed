"""Jobs: what the service does in turn, and goes on with after a restart."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query

from api.auth.permissions import Caller, Right
from api.errors import JobNotFound
from api.http.deps import CurrentCaller, Served, Service
from api.http.errors import problems
from api.jobs.models import Job, JobKind, JobStatus

router = APIRouter(prefix="/v1/jobs", tags=["jobs"])

JobId = Annotated[
    str, Path(description="The job's id; of a job of research, its run's.", examples=["run_d65459f7e628"])
]


@router.get("", responses=problems(422, 503))
async def jobs(
    service: Served,
    caller: CurrentCaller,
    kind: Annotated[JobKind | None, Query(description="Only those of this kind.")] = None,
    status: Annotated[tuple[JobStatus, ...], Query(description="Only those in this state; repeat it for more.")] = (),
    collection: Annotated[str | None, Query(description="Only those over this collection.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 50,
) -> list[Job]:
    """The latest jobs, newest first: questions, ingests and evaluations that wait, are under way, or have ended."""
    return await service.jobs.list(kind, status, collection, limit, readable=lambda name: caller.may(Right.READ, name))


@router.get("/{job_id}", responses=problems(404, 503))
async def job(service: Served, caller: CurrentCaller, job_id: JobId) -> Job:
    """One job: where it stands, how far it is, and what came of it."""
    return await _readable(service, caller, job_id)


@router.post("/{job_id}/cancel", responses=problems(403, 404, 409, 503))
async def cancel(service: Served, caller: CurrentCaller, job_id: JobId) -> Job:
    """End a job, be it under way or waiting for its turn; one that has ended stays as it is.

    Who asked for it may, and who has the right 'admin' over its collection.
    """
    found = await _readable(service, caller, job_id)
    if found.key != caller.key:
        caller.require(Right.ADMIN, found.collection)
    return await service.jobs.cancel(job_id)


async def _readable(service: Service, caller: Caller, job_id: str) -> Job:
    """Raises JobNotFound for one that is not there, and in the same words for one that they may not read."""
    found = await service.jobs.get(job_id)
    if not caller.may(Right.READ, found.collection):
        raise JobNotFound(job_id)
    return found
