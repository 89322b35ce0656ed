"""Approvals: dangerous calls of tools that wait for a person, and what the person decided.

They are kept in SQL, so that whoever serves people (the REST API, another terminal) can decide for a run of another
process. A run that goes on after its process was killed finds its approvals as they were left: what was decided stays
decided, what was open is waited for again.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any, Literal

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from multi_agent.errors import ApprovalClosed, ApprovalNotFound, ToolError
from vectorstore.database import METADATA
from vectorstore.models import FrozenModel

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
    """A dangerous call, and what became of it."""

    approval_id: str = Field(description="begins with the id of its run")
    run_id: str
    step: str
    agent: str
    tool: str
    description: str = Field(description="what the tool does")
    arguments: dict[str, Any] = Field(description="what it is to be called with; as edited, once it was")
    arguments_schema: dict[str, Any] = Field(description="JSON schema that edited arguments have to follow")
    reason: str = Field(description="why the agent wants it, in the model's words")
    asked_at: AwareDatetime
    until: AwareDatetime = Field(description="when it is refused if nobody has decided")
    status: Status = Field(default="open", description="closed: its run ended without a decision")
    by: str = Field(default="", description="who decided")
    decided_at: AwareDatetime | None = None


class Approvals:
    """All approvals, in the database behind ``engine``. Safe to use from several threads."""

    def __init__(self, engine: sql.Engine) -> None:
        self._engine = engine

    def ask(self, wanted: Approval, timeout_s: float) -> Approval:
        """Put it before people for so long; as it is, if it has been decided already."""
        now = datetime.now(UTC)
        wanted = wanted.model_copy(
            update={"status": "open", "asked_at": now, "until": now + timedelta(seconds=timeout_s)}
        )
        with self._engine.begin() as connection:
            known = self._find(connection, wanted.approval_id)
            if known is None:
                connection.execute(_approvals.insert().values(_row(wanted)))
            elif known.status not in ("open", "closed"):
                return known
            else:
                self._replace(connection, wanted, known.status)
        return wanted

    def get(self, approval_id: str) -> Approval:
        """Raises ApprovalNotFound."""
        with self._engine.connect() as connection:
            found = self._find(connection, approval_id)
        if found is None:
            raise ApprovalNotFound(approval_id)
        return found

    def list(self, run_id: str | None = None, *, only_open: bool = True) -> list[Approval]:
        """Those of a run or of all, in the order in which they were asked for."""
        query = sql.select(_approvals.c.approval).order_by(_approvals.c.asked_at, _approvals.c.approval_id)
        if run_id is not None:
            query = query.where(_approvals.c.run_id == run_id)
        if only_open:
            query = query.where(_approvals.c.status == "open")
        with self._engine.connect() as connection:
            return [Approval.model_validate(row.approval) for row in connection.execute(query)]

    def decide(self, approval_id: str, choice: Choice, by: str, arguments: dict[str, Any] | None = None) -> Approval:
        """What a person says. Raises ApprovalNotFound, ApprovalClosed; ToolError for arguments that cannot be."""
        found = self.get(approval_id)
        if (choice == "edited") != (arguments is not None):
            raise ToolError("Arguments go with the decision 'edited', and with no other.")
        if arguments is not None:
            _check(arguments, found.arguments_schema)
            found = found.model_copy(update={"arguments": arguments})
        return self._end(found, choice, by)

    def time_out(self, approval: Approval) -> Approval:
        """Refuse it since nobody decided; as it is, if somebody just has."""
        try:
            return self._end(approval, "timed_out", "")
        except ApprovalClosed:
            return self.get(approval.approval_id)

    def close(self, approval: Approval) -> None:
        """Its run waits no more, be it for good or until it goes on."""
        with self._engine.begin() as connection:
            self._replace(connection, approval.model_copy(update={"status": "closed"}), "open")

    def _end(self, approval: Approval, status: Status, by: str) -> Approval:
        ended = approval.model_copy(update={"status": status, "by": by, "decided_at": datetime.now(UTC)})
        with self._engine.begin() as connection:
            if self._replace(connection, ended, "open"):
                return ended
        now = self.get(approval.approval_id)
        raise ApprovalClosed(
            f"Nobody waits for the approval {approval.approval_id!r} any more: it is {now.status}"
            + (f", by {now.by}." if now.by else ".")
        )

    def _find(self, connection: sql.Connection, approval_id: str) -> Approval | None:
        query = sql.select(_approvals.c.approval).where(_approvals.c.approval_id == approval_id)
        row = connection.execute(query).first()
        return Approval.model_validate(row.approval) if row else None

    def _replace(self, connection: sql.Connection, approval: Approval, status: str) -> bool:
        """Whether it still had that status, and has the new one now: of two decisions, the first one counts."""
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


def _check(arguments: dict[str, Any], schema: dict[str, Any]) -> None:
    from jsonschema import Draft202012Validator

    faults = [
        f"{'.'.join(map(str, fault.absolute_path)) or 'arguments'}: {fault.message}"
        for fault in Draft202012Validator(schema).iter_errors(arguments)
    ]
    if faults:
        raise ToolError(f"The edited arguments do not fit the tool: {'; '.join(faults)}.")
