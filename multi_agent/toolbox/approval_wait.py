"""Waiting for a person to decide on a dangerous call; the turn's time stands still meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime

from pydantic import BaseModel, ValidationError

from multi_agent.bus import Publish
from multi_agent.errors import ToolError
from multi_agent.events import ApprovalDecided, ApprovalRequested
from multi_agent.storage.tool_calls import ToolEntry
from multi_agent.tool import ToolCard
from multi_agent.toolbox.approvals import Approval, Approvals

_POLL_S = 0.25  # decisions come by the database, from whichever process


Pause = Callable[[], AbstractContextManager[None]]
"""Stops the clock of the step's timeout during a ``with`` block."""


class ApprovalWait:
    """Has the dangerous calls of one turn approved. It is an ``Approve`` of ``given_tool.py``."""

    def __init__(self, approvals: Approvals, run_id: str, timeout_s: float, publish: Publish, pause: Pause) -> None:
        self._approvals, self._run_id, self._timeout_s = approvals, run_id, timeout_s
        self._publish, self._pause = publish, pause

    async def __call__(self, card: ToolCard, call: ToolEntry, given: BaseModel) -> BaseModel:
        """The arguments that a person allows. Raises ToolError if nobody does."""
        asked = self._approvals.ask(self._request(card, call), self._timeout_s)
        requested = {"agent": call.agent, "tool": call.tool, "arguments": call.arguments, "reason": call.why}
        await self._publish(ApprovalRequested.model_validate({"approval_id": asked.approval_id, **requested}))
        with self._pause():
            decided = await self._decision(asked)
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
        return given if decided.status == "approved" else _as_edited(given, decided)

    def _request(self, card: ToolCard, call: ToolEntry) -> Approval:
        now = datetime.now(UTC)
        return Approval(
            approval_id=f"{self._run_id}-{call.key[:12]}-{call.occurrence}",  # the same when the run goes on
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

    async def _decision(self, asked: Approval) -> Approval:
        try:
            while asked.status == "open":
                if datetime.now(UTC) >= asked.until:
                    return self._approvals.time_out(asked)
                await asyncio.sleep(_POLL_S)
                asked = self._approvals.get(asked.approval_id)
        except asyncio.CancelledError:
            self._approvals.close(asked)
            raise
        return asked


def _as_edited(given: BaseModel, decided: Approval) -> BaseModel:
    try:
        return type(given).model_validate(decided.arguments)
    except ValidationError as error:
        raise ToolError(f"A person changed the arguments to what the tool cannot take: {error}") from error
