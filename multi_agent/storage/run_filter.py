"""The filter and the order of a list of runs."""

from enum import StrEnum

from pydantic import Field

from base.models import FrozenModel, UtcTime


class RunState(StrEnum):
    """The states of a run. All but the first three are terminal."""

    WAITING = "waiting"
    RUNNING = "running"
    INTERRUPTED = "interrupted"
    ANSWERED = "answered"
    PARTIAL = "partial"
    NEEDS_CLARIFICATION = "needs_clarification"
    INSUFFICIENT = "insufficient"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Rating(StrEnum):
    """A person's rating of an answer."""

    UP = "up"
    DOWN = "down"


class RunSort(StrEnum):
    """The order of runs. The newest or the largest value comes first. Runs without a value come last."""

    CREATED = "created"
    DURATION = "duration"
    TOKENS = "tokens"
    COST = "cost"
    CONFIDENCE = "confidence"


class RunFilter(FrozenModel):
    """Conditions on runs and their order. None means no condition."""

    collection: str | None = Field(default=None, description="Only runs over this collection, alone or with others.")
    status: tuple[RunState, ...] | None = Field(default=None, description="Only runs in one of these states.")
    text: str | None = Field(default=None, description="Only runs with this text in the question.")
    model: str | None = Field(default=None, description="Only runs with this model.")
    rating: Rating | None = Field(default=None, description="Only runs with this rating.")
    cites: str | None = Field(default=None, description="Only runs whose answer cites the document with this id.")
    since: UtcTime | None = Field(default=None, description="Only runs that started then or later.")
    until: UtcTime | None = Field(default=None, description="Only runs that started then or before.")
    after: str | None = Field(default=None, description="Only runs after this one (paging).")
    sort: RunSort = Field(default=RunSort.CREATED, description="Sort key. The newest or the largest value comes first.")

    with_answers: bool = Field(default=False, description="Whether to add the short answer of each run.")


ALL_RUNS = RunFilter()
