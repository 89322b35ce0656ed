"""Use cases for finding, listing, rating and exporting the runs that a caller may read."""

import asyncio
from collections.abc import Iterable, Iterator

from pydantic import Field

from api.auth.permissions import Caller, Right, record_access
from api.errors import UsageError
from api.services.documents.documents import Documents
from api.services.documents.shown_pages import ShownPages
from api.services.exports.export import Export, Format, export
from api.services.exports.pictures import draw_regions
from base.models import FrozenModel
from multi_agent.errors import RunUnderWay
from multi_agent.llm.wrappers.journal import JournalEntry
from multi_agent.storage.run_filter import Rating, RunFilter
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.answer import Status
from multi_agent.values.events import Event, RunStarted

LONGEST_NOTE = 10_000
"""Maximum characters of a note about an answer."""

_RATED = (Status.ANSWERED, Status.PARTIAL, Status.INSUFFICIENT)


class RatingRequest(FrozenModel):
    """A person's rating of the answer of a run."""

    rating: Rating | None = Field(description="`up`, `down`, or null to remove the rating and its note.")
    note: str = Field(
        default="", max_length=LONGEST_NOTE, description="Reason for the rating, such as the right answer."
    )


def find_run(trace: Trace, run_id: str, caller: Caller) -> RunSummary:
    """Find a run by its id or the beginning of its id.

    Raises RunNotFound, even if the run exists but the caller may not read its collection.
    """
    run = trace.run(run_id, among=caller.readable)
    record_access(run.collection)
    return run


def events_for(events: Iterable[Event], run: RunSummary, caller: Caller) -> Iterator[Event]:
    """Yield the events of a run as the caller may see them. Preferences are private to the key of the run."""
    for event in events:
        if isinstance(event.body, RunStarted) and run.key != caller.key:
            remembered = event.body.remembered.model_copy(update={"preferences": ()})
            event = event.model_copy(update={"body": event.body.model_copy(update={"remembered": remembered})})
        yield event


def calls_for(trace: Trace, run: RunSummary, caller: Caller) -> list[JournalEntry]:
    """Return the model calls of a run as the caller may see them, like ``events_for``."""
    calls, started = trace.journal_entries(run.run_id), trace.started(run.run_id)
    hidden = started.remembered.preferences if started and run.key != caller.key else ()
    for preference in hidden:
        old, new = f"- {preference}", "- (a preference of the person who asked)"
        for at, call in enumerate(calls):
            shown = (each.model_copy(update={"content": each.content.replace(old, new)}) for each in call.messages)
            calls[at] = call.model_copy(update={"messages": tuple(shown)})
    return calls


def list_runs(trace: Trace, wanted: RunFilter, limit: int, caller: Caller) -> list[RunSummary]:
    """Return the first matching runs that the caller may read, in the requested order.

    Raises RunNotFound if the run in ``after`` does not exist.
    """
    return trace.runs(limit, wanted, among=caller.readable)


def rate_run(trace: Trace, run_id: str, given: RatingRequest, caller: Caller) -> RunSummary:
    """Store a rating, which replaces an earlier one. Return the run with its rating.

    The caller who started the run and callers with write access to its collection can rate it. Raises
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


async def export_run(
    trace: Trace, run_id: str, caller: Caller, form: Format, documents: Documents, pages: ShownPages
) -> Export:
    """Export a run with its answer as a file, with pictures of the cited page regions if the format has pictures.

    Raises RunNotFound, RunUnderWay, and UsageError for a PDF with letters that no font has.
    """
    run = await asyncio.to_thread(find_run, trace, run_id, caller)
    answer = await asyncio.to_thread(trace.answer, run.run_id)
    pictures = await draw_regions(run, answer, documents, pages) if form.has_pictures else None
    return await asyncio.to_thread(export, run, answer, form, pictures)
