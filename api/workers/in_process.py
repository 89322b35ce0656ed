"""Research in the service's own process and event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from api.services.collection_pool import CollectionPool
from api.workers.contract import EvaluationJobSpec, Research
from api.workers.panel import Panel
from multi_agent.bus import Subscriber
from multi_agent.evaluation.records import Row, State
from multi_agent.library import Library


class InProcessResearcher:
    """Implements ``Researcher``."""

    def __init__(self, panel: Panel, pool: CollectionPool) -> None:
        self._panel, self._pool = panel, pool

    @property
    def pid(self) -> None:
        """It is this process."""
        return None

    @property
    def fault(self) -> str:
        """None: as long as anybody can ask, it can research."""
        return ""

    async def research(self, research: Research, collection: str, tell: Subscriber, rests: Callable[[], bool]) -> None:
        await self._panel.research(research, await self._library(collection), tell, rests)

    async def evaluate(
        self, order: EvaluationJobSpec, collection: str, tell: Callable[[Row], None], rests: Callable[[], bool]
    ) -> State:
        return await self._panel.evaluate(order, await self._library(collection), tell, rests)

    async def _library(self, collection: str) -> Library:
        return (await asyncio.to_thread(self._pool.take, collection)).library
