"""Opens the researcher that the settings choose."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from api.bootstrap import Candor
from api.services.collection_pool import CollectionPool
from api.workers.contract import Researcher
from api.workers.in_process import InProcessResearcher
from api.workers.lock import research_lock
from api.workers.panel import Panel
from api.workers.subprocess import SubprocessResearcher


@asynccontextmanager
async def open_researcher(candor: Candor, pool: CollectionPool, panel: Panel) -> AsyncIterator[Researcher]:
    """Yield the researcher and close it at the end, when no task may be running. ``panel`` is used in process."""
    if candor.settings.service.research_process:
        remote = SubprocessResearcher(candor, pool)
        await remote.start()
        try:
            yield remote
        finally:
            await remote.close()
        return
    with ExitStack() as stack:
        await asyncio.to_thread(stack.enter_context, research_lock(candor.settings.home))
        yield InProcessResearcher(panel, pool)
