"""Opens the researcher that the settings select."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager

from api.settings import Settings
from api.workers.contract import Researcher
from api.workers.in_process import InProcessResearcher
from api.workers.lock import research_lock
from api.workers.subprocess import SubprocessResearcher


@asynccontextmanager
async def open_researcher(
    settings: Settings, make_local: Callable[[], InProcessResearcher]
) -> AsyncIterator[Researcher]:
    """Yield the researcher and close it at the end of the block, when no task may be running.

    ``make_local`` makes the one for research in this process.
    """
    if settings.service.research_process:
        remote = SubprocessResearcher(settings)
        await remote.start()
        try:
            yield remote
        finally:
            await remote.close()
        return
    with ExitStack() as stack:
        await asyncio.to_thread(stack.enter_context, research_lock(settings.home))
        yield make_local()
