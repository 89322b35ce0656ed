"""A process without HTTP that takes jobs from the queues which it shares with services and other workers."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack

from api.bootstrap import Candor
from api.errors import UsageError
from api.jobs.assembly import start_jobs
from api.jobs.locks import lock_database, lock_home
from api.jobs.models import JobKind
from api.jobs.queue import JobQueue
from api.settings import Settings


def run_worker(candor: Candor, kinds: Collection[JobKind], tell: Callable[[JobQueue], None]) -> None:
    """Take jobs until SIGINT or SIGTERM, then leave unfinished ones to the others. ``tell`` receives the queue.

    Raises UsageError if the settings do not share jobs, or another process uses the data folder.
    """
    settings = candor.settings
    _require_shared(settings, kinds)
    _ = candor.agent_catalog.registry()  # report its errors first
    with lock_home(settings.home), lock_database(candor.engine, settings.store.url):
        asyncio.run(_run(candor, kinds, tell))


async def _run(candor: Candor, kinds: Collection[JobKind], tell: Callable[[JobQueue], None]) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with AsyncExitStack() as stack:
        parts = await start_jobs(candor, stack, kinds)
        tell(parts.queue)
        await ended.wait()


def _require_shared(settings: Settings, kinds: Collection[JobKind]) -> None:
    if not settings.shares_jobs:
        raise UsageError(
            "A worker needs the Postgres database and the Qdrant server of the service whose jobs it takes. Set "
            "CANDOR_DATABASE_URL and CANDOR_STORE__URL. Without them, `candor serve` runs all jobs itself."
        )
    if JobKind.INGEST in kinds and settings.service.uploads_folder is None:
        raise UsageError(
            "A worker can take ingests only from a folder of uploads that it shares with the services. Set "
            "CANDOR_SERVICE__UPLOADS_FOLDER, here and on the services, or leave `ingest` out of --queues."
        )
