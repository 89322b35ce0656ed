"""Waits until a person decides on a dangerous call. The step's timeout is paused meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

from pydantic import BaseModel, ValidationError

from multi_agent.errors import ToolError
from multi_agent.storage.tool_calls import ToolEntry
from multi_agent.tool import ToolCard
from multi_agent.toolbox.approvals import Approval, Approvals
from multi_agent.values.bus import Publish
from multi_agent.values.events import ApprovalDecided, ApprovalRequested

_POLL_S = 0.25  # any process may store the decision in the database


Pause = Callable[[], AbstractContextManager[None]]
"""Stops the clock of the step's timeout during a ``with`` block."""


class ApprovalWait:
    """Gets the approvals for the dangerous calls of one step. Implements ``Approve`` of ``granted_tool.py``."""

    def __init__(self, approvals: Approvals, run_id: str, timeout_s: float, publish: Publish, pause: Pause) -> None:
        self._approvals, self._run_id, self._timeout_s = approvals, run_id, timeout_s
        self._publish, self._pause = publish, pause

    async def __call__(self, card: ToolCard, call: ToolEntry, given: BaseModel) -> BaseModel:
        """Return the approved arguments. Raises ToolError if the call is refused or nobody decides in time."""
        approval = self._approvals.request(self._approval_for(card, call), self._timeout_s)
        details = {"agent": call.agent, "tool": call.tool, "arguments": call.arguments, "reason": call.why}
        await self._publish(ApprovalRequested.model_validate({"approval_id": approval.approval_id, **details}))
        with self._pause():
            decided = await self._wait(approval)
        await self._publish(
            ApprovalDecided.model_validate(
                {
                    "approval_id": decided.approval_id,
                    "decision": decided.status,
                    "arguments": decided.arguments,
                    "by": decided.by,
                }
            )
        )
        if decided.status == "refused":
            raise ToolError("A person refused this call. Do without it, or say in the end what cannot be done so.")
        if decided.status == "timed_out":
            raise ToolError("Nobody approved this call in time. Do without it, or say what cannot be done so.")
        return given if decided.status == "approved" else _edited_arguments(given, decided)

    def _approval_for(self, card: ToolCard, call: ToolEntry) -> Approval:
        now = datetime.now(UTC)
        return Approval(
            approval_id=f"{self._run_id}-{call.key[:12]}-{call.occurrence}",  # the same after a resume
            run_id=self._run_id,
            step=call.step,
            agent=call.agent,
            tool=call.tool,
            description=card.description,
            arguments=call.arguments,
            arguments_schema=card.inputs.model_json_schema(),
            reason=call.why,
            asked_at=now,
            until=now,
        )

    async def _wait(self, approval: Approval) -> Approval:
        try:
            while approval.status == "open":
                if datetime.now(UTC) >= approval.until:
                    return self._approvals.time_out(approval)
                await asyncio.sleep(_POLL_S)
                approval = self._approvals.get(approval.approval_id)
        except asyncio.CancelledError:
            self._approvals.close(approval)
            raise
        return approval


def _edited_arguments(given: BaseModel, decided: Approval) -> BaseModel:
    try:
        return type(given).model_validate(decided.arguments)
    except ValidationError as error:
        raise ToolError(f"A person changed the arguments to what the tool cannot take: {error}") from error
