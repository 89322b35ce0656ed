"""Connects the jobs with the code that runs them, for the service, for its worker, and for ``candor worker``."""

import asyncio
import logging
import os
import signal
import socket
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection

from sqlalchemy.exc import SQLAlchemyError

from api.bootstrap import Candor
from api.errors import HomeError, UsageError, error_message
from api.jobs.handlers import EvaluationJobs, IngestJobs, TableJobs
from api.jobs.locks import lock_database, lock_home, research_lock
from api.jobs.models import JobKind, JobState
from api.jobs.peers import Peers
from api.jobs.queue import JobQueue
from api.jobs.research import Runs
from api.jobs.runner import Jobs
from api.jobs.service_worker import News, Order, ServiceWorker
from api.services.documents.collection_pool import CollectionPool
from api.settings import Settings
from api.storage.database import is_away
from base.rpc import Channel, Disconnected, to_failure
from ingest.errors import LedgerUnavailable
from multi_agent.llm.models import Models
from multi_agent.values.bus import Subscriber
from multi_agent.values.events import Event
from vectorstore.remote.process import SearchProcess


@dataclass(frozen=True)
class JobParts:
    """The running jobs of a process, with the parts that they use."""

    pool: CollectionPool
    jobs: Jobs
    runs: Runs
    worker: ServiceWorker | None


@dataclass(frozen=True)
class ServiceParts(JobParts):
    """The running jobs of a service, and its search process."""

    searches: SearchProcess
    replays: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(1))
    """Lets one replay run at a time, because replays cost nothing but slow down the searches of others."""


async def start_service(candor: Candor, stack: AsyncExitStack, listeners: Sequence[Subscriber]) -> ServiceParts:
    """Start the search process and take the jobs of a service, some of them in its worker if the settings say so.

    See ``start_jobs``.
    """
    searches = stack.enter_context(candor.serve_store())
    has_worker = candor.settings.service.research_process
    kinds = [kind for kind in JobKind if not (has_worker and kind in ServiceWorker.kinds)]
    queue = JobQueue(candor.settings, kinds, serves=True)
    worker = ServiceWorker(candor.settings, queue) if has_worker else None
    parts = await start_jobs(candor, stack, queue, listeners, worker=worker)
    if worker:
        await worker.start(parts.runs)
    return ServiceParts(**vars(parts), searches=searches)


async def start_jobs(
    candor: Candor,
    stack: AsyncExitStack,
    queue: JobQueue,
    listeners: Sequence[Subscriber] = (),
    on_release: Callable[[str], None] = lambda _: None,
    worker: ServiceWorker | None = None,
) -> JobParts:
    """Start to take jobs from the queue. ``stack`` stops everything in reverse order.

    ``listeners`` hear every event of a run, and ``on_release`` the id of each run that ends or is paused. Raises
    HomeError, SQLAlchemyError.
    """
    settings = candor.settings
    await asyncio.to_thread(lambda: candor.engine)  # upgrades the schema
    if JobKind.RESEARCH in queue.limits:
        await asyncio.to_thread(stack.enter_context, research_lock(settings.home))
    pool = CollectionPool(candor.collections)
    stack.push_async_callback(asyncio.to_thread, pool.close)
    peers = None
    if settings.shares_jobs:
        peers = Peers(settings, candor.engine, queue, lambda: candor.store.require_writable())
    jobs = Jobs(queue, peers, worker, candor.callers.withdrawn, candor.refresh)
    if peers:
        await peers.start(jobs)
        stack.push_async_callback(peers.leave)
    shared: tuple[Settings, Models] | None = None

    def make_models() -> Models:
        """Return the models of the settings as they are now. Their connections belong to this event loop."""
        nonlocal shared
        if shared is None or shared[0] is not candor.settings:
            shared = candor.settings, candor.panel.models()
        return shared[1]

    runs = Runs(candor.trace, candor.callers, candor.panel, pool, jobs, make_models)
    IngestJobs(candor.ingest, pool, jobs)
    EvaluationJobs(candor.evaluations, candor.callers, pool, jobs, make_models)
    TableJobs(candor.tables, candor.callers, pool, jobs, make_models)
    runs.listeners.extend(listeners)
    runs.on_release = on_release
    await asyncio.to_thread(candor.uploads.clear)
    await jobs.start()
    stack.push_async_callback(jobs.close)
    stack.push_async_callback(runs.stop)
    await runs.recover()
    return JobParts(pool, jobs, runs, worker)


log = logging.getLogger(__name__)

_REPORT_S = 0.2
_RETRY_S = 2.0


def run_worker(candor: Candor, kinds: Collection[JobKind], tell: Callable[[JobQueue], None]) -> None:
    """Take jobs until SIGINT or SIGTERM, then leave unfinished ones to the others. ``tell`` receives the queue.

    Waits for Postgres. Raises UsageError if the settings do not share jobs, or another process uses the data folder,
    and StoreUnavailable if the store cannot be written.
    """
    settings = candor.settings
    _require_shared(settings, kinds)
    _wait_for_database(candor)
    candor.store.require_writable()
    _ = candor.agent_catalog.registry()  # report its errors first
    with lock_home(settings.home), lock_database(candor.engine, settings.store.url), candor.serve_store():
        asyncio.run(_run(candor, kinds, tell))


async def _run(candor: Candor, kinds: Collection[JobKind], tell: Callable[[JobQueue], None]) -> None:
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    async with AsyncExitStack() as stack:
        queue = JobQueue(candor.settings, kinds)
        await start_jobs(candor, stack, queue)
        tell(queue)
        await ended.wait()


def serve(control: Connection) -> None:
    """Run the research and evaluation jobs of the service at the other end of ``control`` until it stops."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole service; this process ends with it
        signal.signal(number, lambda *_: None)  # SIG_IGN would be inherited by the tool servers started here
    try:
        settings, executor = control.recv()
    except EOFError:  # the service was killed just after its start
        return
    asyncio.run(_serve(settings, executor, socket.socket(fileno=os.dup(control.fileno()))))


async def _serve(settings: Settings, executor: str, connected: socket.socket) -> None:
    channel = await Channel.over(connected)

    async def publish(event: Event) -> None:
        channel.write(News(event=event))
        await channel.flush()

    def release(run_id: str) -> None:
        channel.write(News(released=run_id))

    async with AsyncExitStack() as stack:
        queue = JobQueue(settings, ServiceWorker.kinds, executor)
        candor = Candor(settings, search_process=True)
        if settings.shares_jobs:
            await asyncio.to_thread(candor.store.require_writable)  # else it would take jobs that only fail here
        parts = await start_jobs(candor, stack, queue, [publish], release)
        channel.write(News(ready=True))
        with suppress(Disconnected):
            await _obey(channel, parts.jobs)


async def _obey(channel: Channel, jobs: Jobs) -> None:
    """Report the states of the jobs, and carry out orders until the one to stop. Raises Disconnected."""
    running = {asyncio.create_task(_report_states(channel, jobs))}
    while not (order := Order.model_validate_json((await channel.read())[0])).stop:
        cancelling = asyncio.create_task(_cancel(channel, jobs, order.cancel))
        running.add(cancelling)
        cancelling.add_done_callback(running.discard)
    for task in running:
        task.cancel()


async def _report_states(channel: Channel, jobs: Jobs) -> None:
    reported: dict[str, JobState] = {}
    while True:
        if (states := jobs.states()) != reported:
            channel.write(News(states=states))
            reported = states
        await asyncio.sleep(_REPORT_S)


async def _cancel(channel: Channel, jobs: Jobs, job_id: str) -> None:
    try:
        await jobs.cancel(job_id)
    except (SQLAlchemyError, HomeError) as error:  # the service knows the types of Candor's errors only
        channel.write(News(cancelled=job_id, failure=to_failure(LedgerUnavailable(error_message(error)))))
    except Exception as error:  # noqa: BLE001 (the service raises it)
        channel.write(News(cancelled=job_id, failure=to_failure(error)))
    else:
        channel.write(News(cancelled=job_id))


def _wait_for_database(candor: Candor) -> None:
    """Open the database. While Postgres is away, wait for it, as a process that runs already does."""
    while True:
        try:
            _ = candor.engine
            return
        except SQLAlchemyError as error:
            if not is_away(error):
                raise
            log.warning("The worker waits for the database. %s", error)
            time.sleep(_RETRY_S)


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
