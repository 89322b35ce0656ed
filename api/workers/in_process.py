"""Research in the current process and event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from api.services.documents.collection_pool import CollectionPool
from api.services.evaluation.evaluations import Evaluations
from api.services.research.research import PanelFactory
from api.workers.contract import EvaluationTask, ResearchTask
from multi_agent.evaluation.records import Row, State
from multi_agent.library import Library
from multi_agent.values.bus import Subscriber


class InProcessResearcher:
    """Implements ``Researcher``. Belongs to one event loop."""

    pid: None = None
    unavailable_reason = ""

    def __init__(self, factory: PanelFactory, evaluations: Evaluations, pool: CollectionPool) -> None:
        self._factory, self._evaluations, self._pool = factory, evaluations, pool
        self._models = factory.models()  # shared by all runs, so the request limit of an endpoint applies to their sum
        self._database_slot = asyncio.Lock()  # makes concurrent runs read the catalog one after the other

    async def research(
        self, task: ResearchTask, collection: str, publish: Subscriber, is_pausing: Callable[[], bool]
    ) -> None:
        library = await self._library(collection)
        async with self._database_slot:
            orchestrator = await asyncio.to_thread(self._factory.orchestrator, library, self._models, task.key)
        await orchestrator.research(task.request, publish, run_id=task.run_id, pausing=is_pausing)

    async def evaluate(
        self, task: EvaluationTask, collection: str, publish: Callable[[Row], None], is_pausing: Callable[[], bool]
    ) -> State:
        library = await self._library(collection)
        result = await asyncio.to_thread(self._evaluations.store.get, task.spec.evaluation)
        return await self._evaluations.resume(
            library, result, parallel=task.spec.parallel, budget=task.spec.budget, publish=publish,
            models=self._models, pausing=is_pausing, key=task.key, limits=task.limits,
        )  # fmt: skip

    async def _library(self, collection: str) -> Library:
        return await asyncio.to_thread(self._pool.library, collection)
