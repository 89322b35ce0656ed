"""Research in a process of its own: however much there is of it, the service has time for whoever searches and reads.

Runs and evaluations are done by the same process, so that they wait in one line for each model endpoint. It opens no
collection, which belongs to one process, and loads no embedding model: it asks the service.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from api.bootstrap import Candor
from api.errors import ResearchLost, ServiceEnding
from api.services.collection_pool import CollectionPool
from api.workers.contract import EvaluationJobSpec, Research
from api.workers.research_process import ResearchProcess, Tell
from multi_agent.bus import Subscriber
from multi_agent.evaluation.records import Row, State

_TRIES = 2


class SubprocessResearcher:
    """Implements ``Researcher``. When its process ends by itself, another one goes on with what was in it."""

    def __init__(self, candor: Candor, pool: CollectionPool) -> None:
        self._candor, self._pool = candor, pool
        self._starting = asyncio.Lock()
        self._process: ResearchProcess | None = None
        self._ending = False

    async def begin(self) -> None:
        """Start the process, which takes a second or two until it can work; nobody waits for it."""
        await asyncio.to_thread(self._make_tables)
        await self._living()

    async def research(self, research: Research, collection: str, tell: Subscriber, rests: Callable[[], bool]) -> None:
        await self._done(research, collection, tell, rests)

    async def evaluate(
        self, order: EvaluationJobSpec, collection: str, tell: Callable[[Row], None], rests: Callable[[], bool]
    ) -> State:
        async def told(row: Row) -> None:
            tell(row)

        state: State = await self._done(order, collection, told, rests)
        return state

    @property
    def pid(self) -> int | None:
        """The id of the process that works now."""
        return self._process.pid if self._process and not self._process.gone else None

    @property
    def fault(self) -> str:
        """How the last process ended that had not even begun to work; the next one is started with the next task."""
        return self._process.stillborn if self._process else ""

    async def end(self) -> None:
        """End the process. Nothing may be under way any more. Idempotent."""
        self._ending = True
        async with self._starting:
            process, self._process = self._process, None
            if process:
                await process.stop()

    async def _done(
        self, order: Research | EvaluationJobSpec, collection: str, tell: Tell, rests: Callable[[], bool]
    ) -> Any:
        """What came of it. What was in the process when that ended goes on in the next one, but in no third one."""
        library = (await asyncio.to_thread(self._pool.take, collection)).library
        for _ in range(_TRIES):
            process = await self._living()
            try:
                return await process.do(order, library, tell, rests)
            except ResearchLost as error:
                lost = error
        raise ResearchLost(
            f"{lost} It was the second one to end while it did this, which is not tried again: it may be this that "
            "ends them, as when memory runs out. The service's log may tell more."
        )

    async def _living(self) -> ResearchProcess:
        async with self._starting:
            if self._ending:
                raise ServiceEnding
            if self._process is None or self._process.gone:
                dead, candor = self._process, self._candor
                if dead:
                    await dead.stop()
                self._process = ResearchProcess(
                    candor.settings, lambda text: candor.embedder.embed_query(text), self._pool.precedence
                )
            return self._process

    def _make_tables(self) -> None:
        """Now, by this process: two that make the same table at once get into each other's way."""
        candor = self._candor
        _ = candor.trace, candor.ledger, candor.plans, candor.memories, candor.tools, candor.registry
