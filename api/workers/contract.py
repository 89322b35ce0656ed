"""The contract of a researcher, which runs the research and evaluation jobs of the service.

Implementations: ``in_process.py`` and ``subprocess.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pydantic import Field

from api.auth.permissions import Limits
from base.models import FrozenModel
from multi_agent.evaluation.records import Row, State
from multi_agent.settings.research import Budget
from multi_agent.values.bus import Subscriber
from multi_agent.values.request import Request


class ResearchTask(FrozenModel):
    """A run to start or to resume."""

    run_id: str
    request: Request
    key: str = Field(description="id of the API key that started it; selects preferences and conversations")


class EvaluationJobSpec(FrozenModel):
    """The stored specification of an evaluation job. The evaluation itself is stored separately."""

    evaluation: str
    parallel: int = Field(default=4, ge=1, le=256)
    budget: Budget = Budget()


class EvaluationTask(FrozenModel):
    """An evaluation to start or to resume."""

    spec: EvaluationJobSpec
    key: str = Field(description="id of the API key that started it, to which its runs belong")
    limits: Limits = Field(description="of that key")


class Researcher(Protocol):
    """Runs research and evaluations over collections that the service has open.

    Cancelling a call ends the run at once and stores its state. If ``is_pausing`` returns True at that moment, the run
    can be resumed. All progress is published in order before the call returns.
    """

    @property
    def pid(self) -> int | None:
        """The id of the separate research process, if one is running."""
        ...

    @property
    def unavailable_reason(self) -> str:
        """The reason why research is currently unavailable. Empty if it is available."""
        ...

    async def research(
        self, task: ResearchTask, collection: str, publish: Subscriber, is_pausing: Callable[[], bool]
    ) -> None:
        """Execute the run until it has ended and its answer is stored. Raises AgentError, StoreError, ResearchLost."""
        ...

    async def evaluate(
        self, task: EvaluationTask, collection: str, publish: Callable[[Row], None], is_pausing: Callable[[], bool]
    ) -> State:
        """Ask the unfinished questions. Raises AgentError, StoreError, ResearchLost."""
        ...
