"""Runs and evaluations over a library, in the current process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from api.services.evaluation.evaluations import Evaluations
from api.services.research.research import PanelFactory
from api.workers.contract import EvaluationTask, ResearchTask
from multi_agent.evaluation.records import Row, State
from multi_agent.library import Library
from multi_agent.values.bus import Subscriber


class Panel:
    """Runs research and evaluations. Belongs to one event loop."""

    def __init__(self, factory: PanelFactory, evaluations: Evaluations) -> None:
        self._factory, self._evaluations = factory, evaluations
        self._models = factory.models()  # shared by all runs, so the request limit of an endpoint applies to their sum
        self._database_slot = asyncio.Lock()  # makes concurrent runs read the catalog one after the other

    async def research(
        self, task: ResearchTask, library: Library, publish: Subscriber, is_pausing: Callable[[], bool]
    ) -> None:
        """Start or resume a run. See ``Researcher.research``."""
        async with self._database_slot:
            orchestrator = await asyncio.to_thread(self._factory.orchestrator, library, self._models, task.key)
        await orchestrator.research(task.request, publish, run_id=task.run_id, pausing=is_pausing)

    async def evaluate(
        self, task: EvaluationTask, library: Library, publish: Callable[[Row], None], is_pausing: Callable[[], bool]
    ) -> State:
        """Start or resume an evaluation. See ``Researcher.evaluate``."""
        result = await asyncio.to_thread(self._evaluations.store.get, task.spec.evaluation)
        return await self._evaluations.resume(
            library, result, parallel=task.spec.parallel, budget=task.spec.budget, publish=publish,
            models=self._models, pausing=is_pausing, key=task.key, limits=task.limits,
        )  # fmt: skip
