"""Tool calls with their results, in SQL. They are part of the trace, and a resumed run does not repeat them."""

from datetime import UTC
from typing import Any

import sqlalchemy as sql
from pydantic import AwareDatetime, Field

from base.database import SqlStore
from base.models import FrozenModel
from multi_agent.storage.tables import CALLS
from multi_agent.tool import ToolResult
from multi_agent.values.request import ToolUse


class ToolEntry(FrozenModel):
    """One call. A call without result and error has started, but its outcome is unknown."""

    key: str = Field(description="hash of tool, agent and arguments")
    occurrence: int = Field(ge=0, description="number of earlier equal calls in the run")
    step: str
    agent: str
    tool: str
    arguments: dict[str, Any] = Field(description="arguments passed to the tool, after edits by a person")
    why: str
    began_at: AwareDatetime
    seconds: float = 0.0
    result: ToolResult | None = None
    error: str = ""

    @property
    def ended(self) -> bool:
        """Whether the outcome of the call is known."""
        return self.result is not None or bool(self.error)


class ToolCalls(SqlStore):
    """The tool calls of all runs, in SQL."""

    def find(self, run_id: str, key: str, occurrence: int) -> ToolEntry | None:
        """Return the call, or None if the run has not made it."""
        same = (CALLS.c.run_id == run_id, CALLS.c.key == key, CALLS.c.occurrence == occurrence)
        found = self._select(sql.select(CALLS.c.entry).where(*same))
        return ToolEntry.model_validate(found[0].entry) if found else None

    def record(self, run_id: str, entry: ToolEntry) -> None:
        """Store the call. Replaces an earlier entry of the same call."""
        self._replace(CALLS, tool_row(run_id, entry))

    def entries(self, run_id: str) -> list[ToolEntry]:
        """Return the calls of a run, ordered by their start."""
        query = (
            sql.select(CALLS.c.entry)
            .where(CALLS.c.run_id == run_id)
            .order_by(CALLS.c.began_at, CALLS.c.key, CALLS.c.occurrence)
        )
        return [ToolEntry.model_validate(row.entry) for row in self._select(query)]

    def that_worked(self, run_id: str, question: str) -> tuple[ToolUse, ...]:
        """Return the calls of a run that returned a result, without the values of their arguments.

        The purpose of each is the question. A model's reason may repeat instructions of a page, and later runs would
        read them.
        """
        worked = [entry for entry in self.entries(run_id) if entry.result is not None and entry.why.strip()]
        return tuple(ToolUse(call=_shape_of(entry), purpose=question, run_id=run_id) for entry in worked)


def tool_row(run_id: str, entry: ToolEntry) -> dict[str, object]:
    """Return the row of a call."""
    return {
        "run_id": run_id,
        "key": entry.key,
        "occurrence": entry.occurrence,
        "began_at": entry.began_at.astimezone(UTC),  # SQLite drops the time zone
        "entry": entry.model_dump(mode="json"),
    }


def _shape_of(entry: ToolEntry) -> str:
    """Return the name of the tool with the names of the given arguments."""
    given = sorted(name for name, value in entry.arguments.items() if value is not None)
    return f"{entry.tool}({', '.join(given)})"
