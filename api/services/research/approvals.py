"""Use cases for listing and deciding approvals of dangerous tool calls.

Approving a call requires write access to the collection of its run, because a key that may only read must not change
anything through a tool. The caller who started the run may always refuse. If the caller may not read a run, its
approvals are reported as not found.
"""

from typing import Any

from pydantic import Field

from api.auth.permissions import Caller, Right
from api.services.research.runs import find_run
from base.models import FrozenModel
from multi_agent.errors import ApprovalClosed, ApprovalNotFound, RunNotFound
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.approvals import Approval, Approvals, Choice


class Decision(FrozenModel):
    """A person's decision on a dangerous call."""

    decision: Choice
    arguments: dict[str, Any] | None = Field(
        default=None, description="The arguments to call the tool with. Required with `edited`, rejected otherwise."
    )


def open_approvals(approvals: Approvals, trace: Trace, caller: Caller, run_id: str | None = None) -> list[Approval]:
    """Return the open approvals of one run, or of all runs that the caller may read. Raises RunNotFound."""
    wanted = find_run(trace, run_id, caller).run_id if run_id is not None else None
    return [each for each in approvals.list(wanted) if _is_awaited(trace, each, caller)]


def decide(approvals: Approvals, trace: Trace, approval_id: str, decision: Decision, caller: Caller) -> Approval:
    """Decide an approval and return it.

    Raises ApprovalNotFound, ApprovalClosed, Forbidden, and ToolError for invalid arguments.
    """
    try:  # The run is looked up first, so that a hidden approval takes as long as a missing one.
        run = find_run(trace, approval_id.partition("-")[0], caller)
    except RunNotFound:
        raise ApprovalNotFound(approval_id) from None
    approval = approvals.get(approval_id)
    if approval.run_id != run.run_id:
        raise ApprovalNotFound(approval_id)
    if run.key != caller.key or decision.decision != "refused":
        caller.require(Right.WRITE, run.collection)
    if run.ended and approval.status == "open":  # the run was killed
        raise ApprovalClosed(f"The run of approval {approval_id!r} has ended, so it needs no decision.")
    return approvals.decide(approval_id, decision.decision, caller.name, decision.arguments)


def _is_awaited(trace: Trace, approval: Approval, caller: Caller) -> bool:
    """Return whether the caller may read the run and it is active. A killed run leaves its approvals open."""
    try:
        return not find_run(trace, approval.run_id, caller).ended
    except RunNotFound:
        return False
