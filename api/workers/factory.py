"""Opens the researcher that the settings select."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

from api.services.documents.collection_pool import CollectionPool
from api.settings import Settings
from api.workers.contract import Researcher
from api.workers.in_process import InProcessResearcher
from api.workers.lock import research_lock
from api.workers.panel import Panel
from api.workers.subprocess import SubprocessResearcher
from vectorstore.store import Vectors


@asynccontextmanager
async def open_researcher(
    settings: Settings, embed: Callable[[str], Vectors], pool: CollectionPool, make_panel: Callable[[], Panel]
) -> AsyncIterator[Researcher]:
    """Yield the researcher and close it at the end of the block, when no task may be running.

    ``make_panel`` builds the panel for research in this process.
    """
    if settings.service.research_process:
        remote = SubprocessResearcher(settings, embed, pool)
        await remote.start()
        try:
            yield remote
        finally:
            await remote.close()
        return
    with ExitStack() as stack:
        await asyncio.to_thread(stack.enter_context, research_lock(settings.home))
        yield InProcessResearcher(make_panel(), pool)
