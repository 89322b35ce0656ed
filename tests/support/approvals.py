"""A call of a tool that somebody was asked to approve, without the run that would have made it."""

from __future__ import annotations

from datetime import UTC, datetime

from multi_agent.toolbox.approvals import Approval


def left_open(run_id: str) -> Approval:
    """A call that was waited for when the run was killed."""
    now = datetime.now(UTC)
    return Approval(
        approval_id=f"{run_id}-call-0", run_id=run_id, step="step", agent="Theorist", tool="fetch",
        description="Fetches.", arguments={}, arguments_schema={}, reason="zinc", asked_at=now, until=now,
    )  # fmt: skip
