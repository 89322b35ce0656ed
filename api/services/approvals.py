"""Approvals as those who decide see them: the open ones, and a decision on one.

Who began a run may decide for it, and who may write to its collection. What a caller may not read is told as what is
not there.
"""

from __future__ import annotations

from typing import Any

from pydantic import Field

from api.auth.permissions import Caller, Right
from api.bootstrap import Candor
from api.services.runs import find_run
from multi_agent.errors import ApprovalClosed, ApprovalNotFound, RunNotFound
from multi_agent.toolbox.approvals import Approval, Choice
from vectorstore.models import FrozenModel


class Decision(FrozenModel):
    """What a person says to a dangerous call."""

    decision: Choice
    arguments: dict[str, Any] | None = Field(
        default=None, description="with `edited`, and only then: what it is to be called with"
    )


def open_approvals(candor: Candor, caller: Caller, run_id: str | None = None) -> list[Approval]:
    """Those that runs wait for, of one run or of all that the caller may read. Raises RunNotFound."""
    wanted = find_run(candor, run_id, caller).run_id if run_id is not None else None
    return [each for each in candor.tools.approvals.list(wanted) if _waits(candor, each, caller)]


def decide(candor: Candor, approval_id: str, decision: Decision, caller: Caller) -> Approval:
    """The approval as decided. Raises ApprovalNotFound, ApprovalClosed, Forbidden; ToolError for wrong arguments."""
    try:  # the run first: what is another's is found missing in the same time as what is not there
        run = find_run(candor, approval_id.partition("-")[0], caller)
    except RunNotFound:
        raise ApprovalNotFound(approval_id) from None
    approval = candor.tools.approvals.get(approval_id)
    if approval.run_id != run.run_id:
        raise ApprovalNotFound(approval_id)
    if run.key != caller.key:
        caller.require(Right.WRITE, run.collection)
    if run.ended and approval.status == "open":  # it was killed
        raise ApprovalClosed(f"Nobody waits for the approval {approval_id!r} any more: its run has ended.")
    return candor.tools.approvals.decide(approval_id, decision.decision, caller.name, decision.arguments)


def _waits(candor: Candor, approval: Approval, caller: Caller) -> bool:
    """Whether the caller may know of it, and its run goes on: one that was killed has left it open."""
    try:
        return not find_run(candor, approval.run_id, caller).ended
    except RunNotFound:
        return False
