"""Runs that a caller may see: find one, list the latest, rate and export an answer."""

from __future__ import annotations

from pydantic import Field

from api.auth.permissions import Caller, Right, record_access
from api.errors import UsageError
from api.services.exports.export import Export, Format, export
from multi_agent.answer import Status
from multi_agent.errors import RunUnderWay
from multi_agent.storage.run_filter import Rating, RunFilter
from multi_agent.storage.trace import RunSummary, Trace
from vectorstore.models import FrozenModel

LONGEST_NOTE = 10_000
"""Maximum characters of a note about an answer."""

_RATED = (Status.ANSWERED, Status.INSUFFICIENT)


class RatingRequest(FrozenModel):
    """What a person thinks of the answer of a run."""

    rating: Rating | None = Field(description="`up`, `down`, or null to remove the rating and its note.")
    note: str = Field(default="", max_length=LONGEST_NOTE, description="Why, for example what the right answer is.")


def find_run(trace: Trace, run_id: str, caller: Caller) -> RunSummary:
    """Find a run by its id or the beginning of its id.

    Raises RunNotFound, also for a run over a collection that the caller may not read.
    """
    run = trace.run(run_id, among=caller.readable)
    record_access(run.collection)
    return run


def list_runs(trace: Trace, wanted: RunFilter, limit: int, caller: Caller) -> list[RunSummary]:
    """Return the latest matching runs that the caller may read.

    Raises RunNotFound if the run that the page starts after does not exist.
    """
    return trace.runs(limit, wanted, among=caller.readable)


def rate_run(trace: Trace, run_id: str, given: RatingRequest, caller: Caller) -> RunSummary:
    """Store what a person thinks of an answer, in place of an earlier rating. Return the run with its rating.

    The caller who started the run can rate it, and so can callers with write access to its collection. Raises
    RunNotFound, RunUnderWay, Forbidden, and UsageError for a run without an answer and for a note without a rating.
    """
    run = find_run(trace, run_id, caller)
    if run.key != caller.key:
        caller.require(Right.WRITE, run.collection)
    if not run.ended:
        raise RunUnderWay(f"Run {run.run_id!r} has not finished, so there is no answer to rate yet.")
    if run.status not in _RATED:
        raise UsageError(f"Run {run.run_id!r} {run.status}, so there is no answer to rate.")
    if given.note and not given.rating:
        raise UsageError("The note has no rating. Choose `up` or `down`.")
    trace.rate(run.run_id, given.rating, given.note.strip())
    return trace.run(run.run_id)


def export_run(trace: Trace, run_id: str, caller: Caller, form: Format) -> Export:
    """Export a run with its answer as a file. Raises RunNotFound, RunUnderWay."""
    run = find_run(trace, run_id, caller)
    return export(run, trace.answer(run.run_id), form)
