"""Deletes old runs by age, number or size.

Kept are runs that have not ended, rated runs, runs of stored evaluations, and the earlier runs that a kept run
continues or was forked from.
"""

import re
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from pydantic import Field

from api.auth.audit import Audit, AuditEntry
from api.auth.permissions import Caller
from api.errors import UsageError
from api.storage.home import bytes_below
from base.models import FrozenModel
from multi_agent.errors import RunUnderWay
from multi_agent.evaluation.store import EvaluationStore
from multi_agent.storage.recording import RunArchive
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.toolbox.toolbox import Toolbox

_ALL = 10_000_000
_DAYS = {"d": 1, "w": 7, "y": 365}
_UNITS = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12}


class Limits(FrozenModel):
    """The limits for stored runs. Runs beyond any limit are deleted. Null means no limit."""

    older_than_days: int | None = Field(default=None, ge=0, le=36_500, description="Delete runs older than this.")
    keep: int | None = Field(default=None, ge=0, description="Keep only this many of the newest runs.")
    max_bytes: int | None = Field(
        default=None, ge=0, description="Keep only the newest runs that take up to this many bytes together."
    )


class PrunedRun(FrozenModel):
    """A run to delete."""

    run_id: str
    collection: str
    question: str
    started_at: datetime
    size: int = Field(description="bytes of the run as stored, and of the files of its tools")


@dataclass(frozen=True, eq=False)
class RunPruning:
    """Finds and deletes the runs beyond limits. All methods block."""

    trace: Trace
    archive: RunArchive
    evaluations: EvaluationStore
    tools: Toolbox
    audit: Audit
    release_space: Callable[[], None]

    def find(self, limits: Limits) -> tuple[PrunedRun, ...]:
        """Return the runs to delete, newest first. Raises UsageError without a limit."""
        if limits == Limits():
            raise UsageError("Name a limit: an age, a number of runs, or a size.")
        runs, evaluated = self.trace.runs(_ALL), self.evaluations.run_ids()
        free = [run for run in runs if run.ended and run.rating is None and run.run_id not in evaluated]
        total, found = 0, dict[str, PrunedRun]()
        for position, run in enumerate(free):
            size = self._size(run)
            total += size
            if _breaks(limits, run, position, total):
                found[run.run_id] = _pruned(run, size)
        needed = _ancestors(runs, found.keys())
        return tuple(run for run_id, run in found.items() if run_id not in needed)

    def one(self, run: RunSummary) -> PrunedRun:
        """Return the run as an entry to delete.

        Raises RunUnderWay, and UsageError if another run or an evaluation depends on the run.
        """
        if not run.ended:
            raise RunUnderWay(f"Run {run.run_id!r} has not ended. Cancel it first.")
        if run.run_id in self.evaluations.run_ids():
            raise UsageError(f"Run {run.run_id!r} belongs to a stored evaluation. Delete the evaluation first.")
        needs = [each.run_id for each in self.trace.runs(_ALL) if run.run_id in (each.continues, each.forked_from)]
        if needs:
            raise UsageError(f"{', '.join(needs)} continue or repeat run {run.run_id!r}. Delete them first.")
        return _pruned(run, self._size(run))

    def note(self, runs: Sequence[PrunedRun], caller: Caller) -> None:
        """Record in the audit log who deletes runs. Call this before the deletion."""
        self.audit.write([_entry(run, caller) for run in runs])

    def delete(self, runs: Sequence[str]) -> None:
        """Delete runs permanently, given by their ids, with the files that their tools wrote."""
        if not runs:
            return
        self.archive.delete(runs)
        for run in runs:
            shutil.rmtree(self.tools.sandbox(run).root, ignore_errors=True)
        self.release_space()

    def _size(self, run: RunSummary) -> int:
        return (run.size or 0) + bytes_below(self.tools.sandbox(run.run_id).root)


def parse_age(text: str) -> int:
    """Return an age such as 90d, 12w or 2y in days. Raises UsageError."""
    if match := re.fullmatch(r"(\d{1,5})([dwy])", text.strip().lower()):
        return int(match[1]) * _DAYS[match[2]]
    raise UsageError(f"{text!r} is no age. Write days, weeks or years, such as 90d, 12w or 2y.")


def parse_size(text: str) -> int:
    """Return a size such as 500MB or 1.5GB in bytes. Raises UsageError."""
    if match := re.fullmatch(r"(\d{1,12}(?:\.\d+)?)\s*([kmgt]?b)?", text.strip().lower()):
        return int(float(match[1]) * _UNITS[match[2] or "b"])
    raise UsageError(f"{text!r} is no size. Write a number with a unit, such as 500MB or 1GB.")


def _breaks(limits: Limits, run: RunSummary, position: int, total: int) -> bool:
    days = limits.older_than_days
    return (
        (days is not None and run.started_at < datetime.now(UTC) - timedelta(days=days))
        or (limits.keep is not None and position >= limits.keep)
        or (limits.max_bytes is not None and total > limits.max_bytes)
    )


def _ancestors(runs: Iterable[RunSummary], doomed: Iterable[str]) -> set[str]:
    """Return the runs that the other runs continue or were forked from, directly or through more runs."""
    known = {run.run_id: run for run in runs}
    waiting = [known[run_id] for run_id in known.keys() - set(doomed)]
    found: set[str] = set()
    while waiting:
        run = waiting.pop()
        for origin in {run.continues, run.forked_from} & known.keys() - found:
            found.add(origin)
            waiting.append(known[origin])
    return found


def _pruned(run: RunSummary, size: int) -> PrunedRun:
    return PrunedRun(**run.model_dump(include=PrunedRun.model_fields.keys() - {"size"}), size=size)


def _entry(run: PrunedRun, caller: Caller) -> AuditEntry:
    target = f"{run.run_id} ({run.size} bytes)"
    return AuditEntry(
        at=datetime.now(UTC), key=caller.key, name=caller.name, address="", action="prune runs", target=target,
        collections=(run.collection,), status=0,
    )  # fmt: skip
