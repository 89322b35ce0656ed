"""The contract of who does the research of the service's jobs; ``researchers/`` holds what fulfils it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pydantic import Field

from multi_agent.bus import Subscriber
from multi_agent.evaluation.records import Row, State
from multi_agent.request import Request
from multi_agent.settings import Budget
from vectorstore.models import FrozenModel


class Research(FrozenModel):
    """A run that is to be begun, or to go on."""

    run_id: str
    request: Request
    key: str = Field(description="id of the key that asked for it: whose preferences and conversations are known")


class EvaluationJobSpec(FrozenModel):
    """What a job of evaluation is asked with; the evaluation itself is stored."""

    evaluation: str
    parallel: int = Field(default=4, ge=1, le=256)
    budget: Budget = Budget()


class Researcher(Protocol):
    """Researches questions, and evaluates, over collections that the service has open.

    When it is cancelled it ends at once, and has stored that it was; if ``rests`` says so then, everything is left so
    that it can go on. What is told is told in order, and before the end.
    """

    @property
    def pid(self) -> int | None:
        """The process that researches; None if that is this one, or there is none at the moment."""
        ...

    @property
    def fault(self) -> str:
        """Why nothing can be researched now, as far as is known; empty if it can."""
        ...

    async def research(self, research: Research, collection: str, tell: Subscriber, rests: Callable[[], bool]) -> None:
        """To the end of the run, which is stored. Raises AgentError, StoreError if it cannot begin; ResearchLost."""
        ...

    async def evaluate(
        self, order: EvaluationJobSpec, collection: str, tell: Callable[[Row], None], rests: Callable[[], bool]
    ) -> State:
        """Ask what is not finished. Raises AgentError, StoreError; ResearchLost."""
        ...
