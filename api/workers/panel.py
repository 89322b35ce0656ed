"""Runs and evaluations over a library, in the current process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import cached_property

from api.bootstrap import Candor
from api.services.evaluations import carry_on, store_of
from api.workers.contract import EvaluationJobSpec, ResearchTask
from multi_agent.bus import Subscriber
from multi_agent.evaluation.records import Row, State
from multi_agent.library import Library
from multi_agent.llm.models import Models
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.request import Request


class Panel:
    """Runs research and evaluations. Belongs to one event loop."""

    def __init__(self, candor: Candor) -> None:
        self._candor = candor
        self._prepare_lock = asyncio.Lock()

    @cached_property
    def models(self) -> Models:
        """The models, shared by all runs so that the request limit of each endpoint applies to their sum."""
        return self._candor.models()

    async def research(
        self, task: ResearchTask, library: Library, publish: Subscriber, is_pausing: Callable[[], bool]
    ) -> None:
        """Start or resume a run; see ``Researcher.research``."""
        orchestrator = await self.prepare(task.request, library, task.key)
        await orchestrator.research(task.request, publish, run_id=task.run_id, pausing=is_pausing)

    async def evaluate(
        self, spec: EvaluationJobSpec, library: Library, publish: Callable[[Row], None], is_pausing: Callable[[], bool]
    ) -> State:
        """Start or resume an evaluation; see ``Researcher.evaluate``."""
        result = await asyncio.to_thread(store_of(self._candor).get, spec.evaluation)
        return await carry_on(
            self._candor, library, result, parallel=spec.parallel, budget=spec.budget, tell=publish,
            models=self.models, pausing=is_pausing,
        )  # fmt: skip

    async def prepare(self, request: Request, library: Library, key: str) -> Orchestrator:
        """Return the orchestrator for a request of the key's owner. Raises AgentError for an invalid request."""
        async with self._prepare_lock:  # the first call creates what the others share
            return await asyncio.to_thread(self._prepare, request, library, key)

    def _prepare(self, request: Request, library: Library, key: str) -> Orchestrator:
        orchestrator = self._candor.orchestrator(library, self.models, key)
        orchestrator.validate(request)
        return orchestrator
