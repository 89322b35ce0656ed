"""The panel at work: research and evaluations over a library, in whichever process this is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path

from filelock import FileLock, Timeout

from api.bootstrap import Candor
from api.services.evaluations import carry_on, store_of
from api.workers.contract import EvaluationJobSpec, Research
from multi_agent.bus import Subscriber
from multi_agent.evaluation.records import Row, State
from multi_agent.library import Library
from multi_agent.llm.models import Models
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.request import Request

log = logging.getLogger(__name__)

_LOCK = "research.lock"
_PATIENCE_S = 10.0


class Panel:
    """All runs and evaluations of the service, as they are done. Belongs to one event loop."""

    def __init__(self, candor: Candor) -> None:
        self._candor = candor
        self._preparing = asyncio.Lock()

    @cached_property
    def models(self) -> Models:
        """The same for all: they bound how many requests each endpoint gets at once."""
        return self._candor.models()

    async def research(self, research: Research, library: Library, tell: Subscriber, rests: Callable[[], bool]) -> None:
        """As ``Researcher`` says."""
        orchestrator = await self.prepared(research.request, library, research.key)
        await orchestrator.research(research.request, tell, run_id=research.run_id, pausing=rests)

    async def evaluate(
        self, order: EvaluationJobSpec, library: Library, tell: Callable[[Row], None],
        rests: Callable[[], bool],
    ) -> State:  # fmt: skip
        """As ``Researcher`` says."""
        result = await asyncio.to_thread(store_of(self._candor).get, order.evaluation)
        return await carry_on(
            self._candor, library, result, parallel=order.parallel, budget=order.budget, tell=tell,
            models=self.models, pausing=rests,
        )  # fmt: skip

    async def prepared(self, request: Request, library: Library, key: str) -> Orchestrator:
        """The panel over the library, for the holder of the key. Raises AgentError if it cannot follow the request."""
        async with self._preparing:  # the first one makes what all the others share
            return await asyncio.to_thread(self._prepare, request, library, key)

    def _prepare(self, request: Request, library: Library, key: str) -> Orchestrator:
        orchestrator = self._candor.orchestrator(library, self.models, key)
        orchestrator.validate(request)
        return orchestrator


@contextmanager
def only_researcher(home: Path) -> Iterator[None]:
    """One process at a time works on the runs of a home folder; waits for the one before.

    A service that was killed leaves its research process behind for a moment. A run that another one went on with
    meanwhile would be told and paid for twice.
    """
    lock = FileLock(home / _LOCK, thread_local=False, fallback_to_soft=False)
    while not lock.is_locked:
        try:
            lock.acquire(timeout=_PATIENCE_S)
        except Timeout:
            log.warning("Another process still works on the runs of %s: this one waits until it has ended.", home)
    try:
        yield
    finally:
        lock.release()
