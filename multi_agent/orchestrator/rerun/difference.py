"""Finds the first difference between the events of two runs.

Parallel calls end in any order, so the events of a step are compared without their order. Times and usage are not
compared, nor are events that only a live run has: announcements of calls, drafts of an answer, and approvals.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import Field, JsonValue

from base.models import FrozenModel
from multi_agent.values.events import Event, RunFinished, RunStarted
from multi_agent.values.evidence_events import Searched

_LIVE_ONLY = {
    "run_resumed", "model_asked", "claim_drafted", "draft_withdrawn", "approval_requested", "approval_decided",
}  # fmt: skip
_NOT_COMPARED = ("seconds", "replayed", "usage")
_REASONS = ("words", "cosine")


class Difference(FrozenModel):
    """The first event that differs, and the first field in which it does."""

    number: int | None = Field(description="number of the event; null if the recorded run lacks it")
    repeated_number: int | None = Field(description="its number in the other run; null if that run lacks it")
    type: str
    step: str = Field(description="its step; empty for the run itself")
    field: str = Field(description="path of the field; empty if one of the runs lacks the event")
    recorded: JsonValue = Field(description="its value; null if the recorded run lacks the event")
    repeated: JsonValue = Field(description="its value in the other run; null if that run lacks the event")


def comparable(events: Sequence[Event]) -> list[Event]:
    """Return the events that a replay repeats."""
    return [event for event in events if event.body.type not in _LIVE_ONLY]


def without_end(events: Sequence[Event]) -> list[Event]:
    """Return the events without ``run_finished``."""
    return [event for event in events if not isinstance(event.body, RunFinished)]


def first_difference(recorded: Sequence[Event], repeated: Sequence[Event]) -> Difference | None:
    """Return the first recorded event without an equal one in the replay, or the first additional event."""
    theirs = Counter(map(_identity, comparable(repeated)))
    for event in comparable(recorded):
        if not theirs[_identity(event)]:
            return _difference(event, _counterpart(event, recorded, repeated))
        theirs[_identity(event)] -= 1
    ours = Counter(map(_identity, comparable(recorded)))
    for event in comparable(repeated):
        if not ours[_identity(event)]:
            return Difference(
                number=None, repeated_number=event.number, type=event.body.type, step=event.step, field="",
                recorded=None, repeated=_content(event),
            )  # fmt: skip
        ours[_identity(event)] -= 1
    return None


def _counterpart(event: Event, recorded: Sequence[Event], repeated: Sequence[Event]) -> Event | None:
    """Return the event of the same type and step that replaces this event in the replay."""
    known = {_identity(each) for each in recorded}
    alike = (each for each in repeated if (each.body.type, each.step) == (event.body.type, event.step))
    return next((each for each in alike if _identity(each) not in known), None)


def _difference(event: Event, other: Event | None) -> Difference:
    content = _content(event)
    if other is None:
        field, ours, theirs = "", content, None
    else:
        field, ours, theirs = next(_fields(content, _content(other), ""))
    return Difference(
        number=event.number,
        repeated_number=other.number if other else None,
        type=event.body.type,
        step=event.step,
        field=field,
        recorded=ours,
        repeated=theirs,
    )


def _identity(event: Event) -> str:
    return json.dumps([event.step, _content(event)], sort_keys=True, ensure_ascii=False)


def _content(event: Event) -> dict[str, Any]:
    """Return the body without the fields that differ in every run."""
    body = event.body.model_dump(mode="json")
    for name in _NOT_COMPARED:
        body.pop(name, None)
    if isinstance(event.body, RunStarted):
        body["request"].pop("fork")  # the change of a fork shows in its plan and its calls
    for passage in (
        body["passages"] if isinstance(event.body, Searched) else ()
    ):  # older runs lack the reasons, and cosines differ between machines
        for name in _REASONS:
            passage.pop(name)
    if "task" in body:
        body["task"] = body["task"].removeprefix(f"{event.run_id}_")
    return body


def _fields(ours: Any, theirs: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    """Yield the path and both values of each field that differs."""
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        for name in dict.fromkeys((*ours, *theirs)):
            yield from _fields(ours.get(name), theirs.get(name), f"{path}.{name}" if path else str(name))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for at, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
            yield from _fields(mine, other, f"{path}[{at}]")
    elif ours != theirs:
        yield path, ours, theirs
