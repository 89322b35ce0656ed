"""Research in the service's own process and event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from api.services.documents.collection_pool import CollectionPool
from api.workers.contract import EvaluationTask, ResearchTask
from api.workers.panel import Panel
from multi_agent.evaluation.records import Row, State
from multi_agent.library import Library
from multi_agent.values.bus import Subscriber


class InProcessResearcher:
    """Implements ``Researcher``."""

    pid: None = None
    unavailable_reason = ""

    def __init__(self, panel: Panel, pool: CollectionPool) -> None:
        self._panel, self._pool = panel, pool

    async def research(
        self, task: ResearchTask, collection: str, publish: Subscriber, is_pausing: Callable[[], bool]
    ) -> None:
        await self._panel.research(task, await self._library(collection), publish, is_pausing)

    async def evaluate(
        self, task: EvaluationTask, collection: str, publish: Callable[[Row], None], is_pausing: Callable[[], bool]
    ) -> State:
        return await self._panel.evaluate(task, await self._library(collection), publish, is_pausing)

    async def _library(self, collection: str) -> Library:
        return await asyncio.to_thread(self._pool.library, collection)
