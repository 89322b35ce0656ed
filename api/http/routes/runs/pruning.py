"""Deletes old runs."""

from typing import Annotated

from fastapi import Body
from pydantic import Field

from api.http.deps import CandorDep, Owner
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.research.prune import Limits, PrunedRun
from base.models import FrozenModel

router = make_router(prefix="/v1/runs", tags=["runs"])


class PruneRequest(Limits):
    """The limits, and whether to delete the runs beyond them."""

    delete: bool = Field(default=False, description="Delete the runs. Otherwise, only list them.")
    now: bool = Field(
        default=False, description="Delete them permanently instead of moving them to the bin. This frees their bytes."
    )


class Pruned(FrozenModel):
    """The runs beyond the limits."""

    deleted: bool
    bytes: int = Field(description="Bytes that the runs took or take.")
    runs: tuple[PrunedRun, ...]


@router.post("/prune", responses=problem_responses(403, 422, 503))
def prune(
    candor: CandorDep, caller: Owner, body: Annotated[PruneRequest, Body(examples=[{"older_than_days": 90}])]
) -> Pruned:
    """List the runs beyond the limits, newest first. Move them to the bin with `"delete": true`.

    Keeps rated runs, runs of evaluations, runs that have not ended, and the earlier runs that a kept run continues or
    was forked from. The audit log records each deleted run.
    """
    found = candor.pruning.find(Limits(**body.model_dump(exclude={"delete", "now"})))
    if body.delete:
        candor.bin.delete_runs(found, caller, now=body.now)
    return Pruned(deleted=body.delete, bytes=sum(run.size for run in found), runs=found)
