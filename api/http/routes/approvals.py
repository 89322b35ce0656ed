"""Approvals: dangerous calls of tools that wait for a person."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Body, Path, Query

from api.http.deps import CurrentCaller, Served
from api.http.errors import problems
from api.services.approvals import Decision, decide, open_approvals
from multi_agent.toolbox.approvals import Approval

router = APIRouter(prefix="/v1/approvals", tags=["approvals"])

_EXAMPLES = [
    {"decision": "approved"},
    {"decision": "edited", "arguments": {"url": "https://example.org/data.csv", "name": "data.csv"}},
    {"decision": "refused"},
]


@router.get("", responses=problems(404, 422, 503))
def approvals(
    service: Served,
    caller: CurrentCaller,
    run_id: Annotated[str | None, Query(description="Only those of this run.")] = None,
) -> list[Approval]:
    """The calls that wait for a decision, in the order in which they were asked for."""
    return open_approvals(service.candor, caller, run_id)


@router.post("/{approval_id}", responses=problems(403, 404, 409, 422, 503))
def decide_approval(
    service: Served,
    caller: CurrentCaller,
    approval_id: Annotated[
        str,
        Path(
            pattern=r"^[A-Za-z0-9_-]{1,160}$",
            description="Of the event `approval_requested`, or of the list.",
            examples=["run_d65459f7e628-fetch-0"],
        ),
    ],
    decision: Annotated[Decision, Body(examples=_EXAMPLES)],
) -> Approval:
    """Approve a call, approve it with other arguments, or refuse it. Of two decisions the first one counts."""
    return decide(service.candor, approval_id, decision, caller)
