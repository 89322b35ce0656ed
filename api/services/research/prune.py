"""Deletes old runs by age, number or size. Keeps rated runs."""

from __future__ import annotations

import re
import shutil
from datetime import UTC, datetime, timedelta

from pydantic import Field

from api.errors import UsageError
from multi_agent.storage.archive import RunArchive
from multi_agent.storage.run_filter import RunFilter, RunState
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.toolbox.toolbox import Toolbox
from vectorstore.models import FrozenModel

_ENDED = (RunState.ANSWERED, RunState.INSUFFICIENT, RunState.FAILED, RunState.CANCELLED)
_ALL = 10_000_000
_DAYS = {"d": 1, "w": 7, "y": 365}
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


class Retention(FrozenModel):
    """The limits for stored runs. Runs beyond any limit are deleted."""

    older_than: timedelta | None = None
    keep: int | None = Field(default=None, ge=0, description="number of the newest runs")
    max_bytes: int | None = Field(default=None, ge=0, description="of the newest runs together")


class PrunedRun(FrozenModel):
    """A run to delete."""

    run_id: str
    question: str
    started_at: datetime
    size: int = Field(description="bytes of the run, as stored")


def runs_to_prune(trace: Trace, limits: Retention) -> tuple[PrunedRun, ...]:
    """Return the ended runs without a rating that are beyond a limit, newest first."""
    ended = [run for run in trace.runs(_ALL, RunFilter(status=_ENDED)) if run.rating is None]
    total, found = 0, list[PrunedRun]()
    for position, run in enumerate(ended):
        size = run.size or 0
        total += size
        if _breaks(limits, run, position, total):
            found.append(PrunedRun(run_id=run.run_id, question=run.question, started_at=run.started_at, size=size))
    return tuple(found)


def prune_runs(archive: RunArchive, tools: Toolbox, runs: tuple[PrunedRun, ...]) -> None:
    """Delete runs, including the files of their tools."""
    archive.delete([run.run_id for run in runs])
    for run in runs:
        shutil.rmtree(tools.sandbox(run.run_id).root, ignore_errors=True)


def parse_age(text: str) -> timedelta:
    """Return an age such as 90d, 12w or 2y. Raises UsageError."""
    if match := re.fullmatch(r"(\d{1,5})([dwy])", text.strip().lower()):
        return timedelta(days=int(match[1]) * _DAYS[match[2]])
    raise UsageError(f"{text!r} is no age. Write days, weeks or years, such as 90d, 12w or 2y.")


def parse_size(text: str) -> int:
    """Return a size such as 500MB or 1.5GB in bytes. Raises UsageError."""
    if match := re.fullmatch(r"(\d{1,12}(?:\.\d+)?)\s*([kmgt]?b)?", text.strip().lower()):
        return int(float(match[1]) * _UNITS[match[2] or "b"])
    raise UsageError(f"{text!r} is no size. Write a number with a unit, such as 500MB or 1GB.")


def _breaks(limits: Retention, run: RunSummary, position: int, total: int) -> bool:
    return (
        (limits.older_than is not None and run.started_at < datetime.now(UTC) - limits.older_than)
        or (limits.keep is not None and position >= limits.keep)
        or (limits.max_bytes is not None and total > limits.max_bytes)
    )
