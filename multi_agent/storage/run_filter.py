"""The filter of a list of runs."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime, Field

from vectorstore.models import FrozenModel


class RunState(StrEnum):
    """The states of a run. All but the first two are terminal."""

    WAITING = "waiting"
    RUNNING = "running"
    ANSWERED = "answered"
    INSUFFICIENT = "insufficient"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Rating(StrEnum):
    """What a person thinks of an answer."""

    UP = "up"
    DOWN = "down"


class RunFilter(FrozenModel):
    """Conditions on runs. None means no condition."""

    collection: str | None = Field(default=None, description="Only runs over this collection.")
    status: tuple[RunState, ...] | None = Field(default=None, description="Only runs in one of these states.")
    text: str | None = Field(default=None, description="Only runs with this text in the question.")
    model: str | None = Field(default=None, description="Only runs with this model.")
    rating: Rating | None = Field(default=None, description="Only runs with this rating.")
    cites: str | None = Field(default=None, description="Only runs whose answer cites the document with this id.")
    since: AwareDatetime | None = Field(default=None, description="Only runs that started then or later.")
    until: AwareDatetime | None = Field(default=None, description="Only runs that started then or before.")
    after: str | None = Field(default=None, description="Only runs after this one (paging).")


ALL_RUNS = RunFilter()
