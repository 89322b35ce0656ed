"""Which runs a list of runs is to hold."""

from __future__ import annotations

from enum import StrEnum

from pydantic import AwareDatetime, Field

from vectorstore.models import FrozenModel


class RunState(StrEnum):
    """The states that a run can be in; all but the first two are terminal."""

    WAITING = "waiting"
    RUNNING = "running"
    ANSWERED = "answered"
    INSUFFICIENT = "insufficient"
    FAILED = "failed"
    CANCELLED = "cancelled"


class RunFilter(FrozenModel):
    """Which runs are meant; what is None leaves them all."""

    collection: str | None = Field(default=None, description="Only those of this collection.")
    status: tuple[RunState, ...] | None = Field(default=None, description="Only those in one of these states.")
    text: str | None = Field(default=None, description="Only those whose question says this.")
    model: str | None = Field(default=None, description="Only those that asked this model.")
    since: AwareDatetime | None = Field(default=None, description="Only those that started then or later.")
    until: AwareDatetime | None = Field(default=None, description="Only those that started then or before.")
    after: str | None = Field(default=None, description="Go on after this run, such as the last of the page before.")


ALL_RUNS = RunFilter()
