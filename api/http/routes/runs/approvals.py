"""Approvals of dangerous tool calls."""

from typing import Annotated

from fastapi import Body, Path, Query

from api.http.deps import CandorDep, CurrentCaller
from api.http.errors import problem_responses
from api.http.router import make_router
from api.services.research.approvals import Decision, decide, open_approvals
from multi_agent.toolbox.approvals import Approval

router = make_router(prefix="/v1/approvals", tags=["approvals"])

_EXAMPLES = [
    {"decision": "approved"},
    {"decision": "edited", "arguments": {"url": "https://example.org/data.csv", "name": "data.csv"}},
    {"decision": "refused"},
]


@router.get("", responses=problem_responses(404, 422, 503))
def approvals(
    candor: CandorDep,
    caller: CurrentCaller,
    run_id: Annotated[str | None, Query(description="Return only the approvals of this run.")] = None,
) -> list[Approval]:
    """List the tool calls that wait for a decision, oldest first."""
    return open_approvals(candor.tools.approvals, candor.trace, caller, run_id)


@router.post("/{approval_id}", responses=problem_responses(403, 404, 409, 422, 503))
def decide_approval(
    candor: CandorDep,
    caller: CurrentCaller,
    approval_id: Annotated[
        str,
        Path(
            pattern=r"^[A-Za-z0-9_-]{1,160}$",
            description="Id of the approval, from the list or from the event `approval_requested`.",
            examples=["run_d65459f7e628-fetch-0"],
        ),
    ],
    decision: Annotated[Decision, Body(examples=_EXAMPLES)],
) -> Approval:
    """Approve a call, approve it with changed arguments, or refuse it. Only the first decision counts."""
    return decide(candor.tools.approvals, candor.trace, approval_id, decision, caller)
