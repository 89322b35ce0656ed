"""The processes that share the jobs."""

from collections.abc import Sequence

from api.http.deps import Owner, PartsDep
from api.http.errors import problem_responses
from api.http.router import make_router
from api.storage.live_processes import Process

router = make_router(prefix="/v1/processes", tags=["jobs"])


@router.get("", responses=problem_responses(503))
async def processes(parts: PartsDep, caller: Owner) -> Sequence[Process]:
    """List the live services and workers that share the jobs of this service, oldest first. Empty if it is alone.

    Only owners may call this.
    """
    return await parts.jobs.processes()
