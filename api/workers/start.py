"""Which of the researchers the settings ask for, from its beginning to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from api.bootstrap import Candor
from api.services.collection_pool import CollectionPool
from api.workers.contract import Researcher
from api.workers.in_process import InProcessResearcher
from api.workers.panel import Panel, only_researcher
from api.workers.subprocess import SubprocessResearcher


@asynccontextmanager
async def researching(candor: Candor, pool: CollectionPool, panel: Panel) -> AsyncIterator[Researcher]:
    """Whoever researches for the service; ``panel`` does it if it is this process. At the end nothing is under way."""
    if candor.settings.service.research_process:
        apart = SubprocessResearcher(candor, pool)
        await apart.begin()
        try:
            yield apart
        finally:
            await apart.end()
        return
    with ExitStack() as alone:
        await asyncio.to_thread(alone.enter_context, only_researcher(candor.settings.home))
        yield InProcessResearcher(panel, pool)
