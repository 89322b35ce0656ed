"""A tool call that waits for approval, without its run."""

from __future__ import annotations

from datetime import UTC, datetime

from multi_agent.toolbox.approvals import Approval


def left_open(run_id: str) -> Approval:
    """Return an open approval, as a killed run leaves it."""
    now = datetime.now(UTC)
    return Approval(
        approval_id=f"{run_id}-call-0", run_id=run_id, step="step", agent="Theorist", tool="fetch",
        description="Fetches.", arguments={}, arguments_schema={}, reason="zinc", asked_at=now, until=now,
    )  # fmt: skip
