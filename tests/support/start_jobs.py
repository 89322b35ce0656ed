"""Starts the jobs of a service in a process of its own: ``python -m support.start_jobs HOME DATABASE_URL``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from api.bootstrap import Candor
from api.jobs.queue import JobQueue
from api.settings import Settings


async def main(home: str, url: str) -> None:
    """Open the database, start DBOS, and end."""
    settings = Settings(home=Path(home), database_url=url)
    _ = Candor(settings).engine
    queue = JobQueue(settings)
    await queue.launch(_run_nothing)
    await queue.destroy()


async def _run_nothing(_: str) -> str:
    return ""


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
