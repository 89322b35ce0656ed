"""Which of the researchers the settings ask for, from its beginning to its end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager

from api.bootstrap import Candor
from api.services.collection_pool import Shelf
from api.workers.contract import Researcher
from api.workers.in_process import ResearchHere
from api.workers.panel import Panel, only_researcher
from api.workers.subprocess import ResearchApart


@asynccontextmanager
async def researching(candor: Candor, shelf: Shelf, panel: Panel) -> AsyncIterator[Researcher]:
    """Whoever researches for the service; ``panel`` does it if it is this process. At the end nothing is under way."""
    if candor.settings.service.research_process:
        apart = ResearchApart(candor, shelf)
        await apart.begin()
        try:
            yield apart
        finally:
            await apart.end()
        return
    with ExitStack() as alone:
        await asyncio.to_thread(alone.enter_context, only_researcher(candor.settings.home))
        yield ResearchHere(panel, shelf)
