"""Approvals: dangerous tool calls that wait for a person, and the person's decisions.

They are stored in SQL, so a person can decide in another process than the run's, through the REST API or a terminal. A
run that is resumed after a crash finds its approvals unchanged: decisions remain, and it waits for open ones again.
The step's timeout is paused meanwhile.
"""

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sql
from pydantic import AwareDatetime, BaseModel, Field, ValidationError

from base.database import METADATA, SqlStore
from base.models import FrozenModel
from multi_agent.errors import ApprovalClosed, ApprovalNotFound, ToolError
from multi_agent.settings.tools import ToolSettings
from multi_agent.storage.tool_calls import ToolEntry
from multi_agent.tool import ToolCard
from multi_agent.values.bus import Publish
from multi_agent.values.events import ApprovalDecided, ApprovalRequested

Choice = Literal["approved", "edited", "refused"]
Status = Literal["open", "approved", "edited", "refused", "timed_out", "closed"]

_approvals = sql.Table(
    "approvals",
    METADATA,
    sql.Column("approval_id", sql.String(160), primary_key=True),
    sql.Column("run_id", sql.String(64), nullable=False, index=True),
    sql.Column("status", sql.String(20), nullable=False, index=True),
    sql.Column("asked_at", sql.DateTime(timezone=True), nullable=False),
    sql.Column("approval", sql.JSON, nullable=False),
)


class Approval(FrozenModel):
    """A dangerous call and its decision."""

    approval_id: str = Field(description="starts with the id of the run")
    run_id: str
    step: str
    agent: str
    tool: str
    description: str = Field(description="what the tool does")
    arguments: dict[str, Any] = Field(description="arguments of the call, or the edited ones")
    arguments_schema: dict[str, Any] = Field(description="JSON schema for edited arguments")
    reason: str = Field(description="reason for the call, as the model states it")
    asked_at: AwareDatetime
    until: AwareDatetime = Field(description="time when it is refused without a decision")
    status: Status = Field(default="open", description="closed: the run ended without a decision")
    by: str = Field(default="", description="name of the person who decided")
    decided_at: AwareDatetime | None = None


class Approvals(SqlStore):
    """The approvals in a database. Thread-safe."""

    def request(self, approval: Approval, timeout_s: float) -> Approval:
        """Open the approval for ``timeout_s`` seconds. If a decision is stored already, return that one."""
        now = datetime.now(UTC)
        approval = approval.model_copy(
            update={"status": "open", "asked_at": now, "until": now + timedelta(seconds=timeout_s)}
        )
        with self._engine.begin() as connection:
            known = self._find(connection, approval.approval_id)
            if known is None:
                connection.execute(_approvals.insert().values(_row(approval)))
            elif known.status not in ("open", "closed"):
                return known
            else:
                self._update(connection, approval, known.status)
        return approval

    def get(self, approval_id: str) -> Approval:
        """Return an approval. Raises ApprovalNotFound."""
        with self._engine.connect() as connection:
            found = self._find(connection, approval_id)
        if found is None:
            raise ApprovalNotFound(approval_id)
        return found

    def list(self, run_id: str | None = None) -> list[Approval]:
        """Return the open approvals of a run, or of all runs, oldest first."""
        query = sql.select(_approvals.c.approval).where(_approvals.c.status == "open")
        if run_id is not None:
            query = query.where(_approvals.c.run_id == run_id)
        in_order = query.order_by(_approvals.c.asked_at, _approvals.c.approval_id)
        return [Approval.model_validate(row.approval) for row in self._select(in_order)]

    def decide(self, approval_id: str, choice: Choice, by: str, arguments: dict[str, Any] | None = None) -> Approval:
        """Store a decision. Raises ApprovalNotFound, ApprovalClosed, or ToolError for invalid arguments."""
        found = self.get(approval_id)
        if (choice == "edited") != (arguments is not None):
            raise ToolError("Send arguments with the decision 'edited', and only with it.")
        if arguments is not None:
            _require_valid(arguments, found.arguments_schema)
            found = found.model_copy(update={"arguments": arguments})
        return self._decide(found, choice, by)

    def time_out(self, approval: Approval) -> Approval:
        """Refuse an approval without a decision. If a decision was just stored, return that one."""
        try:
            return self._decide(approval, "timed_out", "")
        except ApprovalClosed:
            return self.get(approval.approval_id)

    def close(self, approval: Approval) -> None:
        """Close an approval, as its run no longer waits. A resumed run opens it again."""
        with self._engine.begin() as connection:
            self._update(connection, approval.model_copy(update={"status": "closed"}), "open")

    def _decide(self, approval: Approval, status: Status, by: str) -> Approval:
        ended = approval.model_copy(update={"status": status, "by": by, "decided_at": datetime.now(UTC)})
        with self._engine.begin() as connection:
            if self._update(connection, ended, "open"):
                return ended
        now = self.get(approval.approval_id)
        raise ApprovalClosed(
            f"The approval {approval.approval_id!r} is no longer open: it is {now.status}"
            + (f", by {now.by}." if now.by else ".")
        )

    def _find(self, connection: sql.Connection, approval_id: str) -> Approval | None:
        query = sql.select(_approvals.c.approval).where(_approvals.c.approval_id == approval_id)
        row = connection.execute(query).first()
        return Approval.model_validate(row.approval) if row else None

    def _update(self, connection: sql.Connection, approval: Approval, status: str) -> bool:
        """Replace the approval if it still has ``status``; return whether it had. The first of two decisions wins."""
        same = (_approvals.c.approval_id == approval.approval_id, _approvals.c.status == status)
        return connection.execute(_approvals.update().where(*same).values(_row(approval))).rowcount == 1


def _row(approval: Approval) -> dict[str, Any]:
    return {
        "approval_id": approval.approval_id,
        "run_id": approval.run_id,
        "status": approval.status,
        "asked_at": approval.asked_at,
        "approval": approval.model_dump(mode="json"),
    }


def _require_valid(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    errors = [
        f"{'.'.join(map(str, error.absolute_path)) or 'arguments'}: {error.message}"
        for error in Draft202012Validator(schema).iter_errors(arguments)
    ]
    if errors:
        raise ToolError(f"The edited arguments are invalid: {'; '.join(errors)}.")


_POLL_S = 0.25  # any process may store the decision in the database


Pause = Callable[[], AbstractContextManager[None]]
"""Stops the clock of the step's timeout during a ``with`` block."""


@dataclass(frozen=True)
class ApprovalWait:
    """Gets the approvals for the dangerous calls of one step. Implements ``Approve`` of ``granted_tool.py``."""

    approvals: Approvals
    run_id: str
    settings: ToolSettings
    publish: Publish
    pause: Pause

    async def __call__(self, card: ToolCard, call: ToolEntry, given: BaseModel) -> BaseModel:
        """Return the approved arguments. Raises ToolError if the call is refused or nobody decides in time."""
        approval = self.approvals.request(self._approval_for(card, call), self.settings.approval_timeout_s)
        shown = approval.model_dump(include={"approval_id", "agent", "tool", "arguments", "reason"})
        await self.publish(ApprovalRequested.model_validate(shown))
        with self.pause():
            decided = await self._wait(approval)
        shown = {"decision": decided.status, **decided.model_dump(include={"approval_id", "arguments", "by"})}
        await self.publish(ApprovalDecided.model_validate(shown))
        if decided.status == "refused":
            raise ToolError("A person refused this call. Do without it, or say in the end what cannot be done so.")
        if decided.status == "timed_out":
            raise ToolError("Nobody approved this call in time. Do without it, or say what cannot be done so.")
        return given if decided.status == "approved" else _edited_arguments(given, decided)

    def _approval_for(self, card: ToolCard, call: ToolEntry) -> Approval:
        now = datetime.now(UTC)
        return Approval(
            approval_id=f"{self.run_id}-{call.key[:12]}-{call.occurrence}",  # the same after a resume
            run_id=self.run_id,
            **call.model_dump(include={"step", "agent", "tool", "arguments"}),
            description=card.description,
            arguments_schema=card.inputs.model_json_schema(),
            reason=call.why,
            asked_at=now,
            until=now,
        )

    async def _wait(self, approval: Approval) -> Approval:
        try:
            while approval.status == "open":
                if datetime.now(UTC) >= approval.until:
                    return self.approvals.time_out(approval)
                await asyncio.sleep(_POLL_S)
                approval = self.approvals.get(approval.approval_id)
        except asyncio.CancelledError:
            self.approvals.close(approval)
            raise
        return approval


def _edited_arguments(given: BaseModel, decided: Approval) -> BaseModel:
    try:
        return type(given).model_validate(decided.arguments)
    except ValidationError as error:
        raise ToolError(f"A person changed the arguments to what the tool cannot take: {error}") from error
