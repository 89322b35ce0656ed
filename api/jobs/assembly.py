"""Connects the jobs with the code that runs them, for the service and for workers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from functools import cache

from api.bootstrap import Candor
from api.jobs.evaluation import EvaluationJobs
from api.jobs.ingest import IngestJobs
from api.jobs.locks import research_lock
from api.jobs.models import JobKind
from api.jobs.peers import Peers
from api.jobs.queue import JobQueue
from api.jobs.research import Runs
from api.jobs.runner import Jobs
from api.jobs.service_worker import ServiceWorker
from api.jobs.tables import TableJobs
from api.services.documents.collection_pool import CollectionPool
from api.storage.notifications import Listener
from multi_agent.values.bus import Subscriber
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
    return ServiceParts(**vars(await _start_service_jobs(candor, stack, listeners)), searches=searches)


async def _start_service_jobs(candor: Candor, stack: AsyncExitStack, listeners: Sequence[Subscriber]) -> JobParts:
    if not candor.settings.service.research_process:
        return await start_jobs(candor, stack, JobQueue(candor.settings), listeners)
    queue = JobQueue(candor.settings, [kind for kind in JobKind if kind not in ServiceWorker.kinds])
    worker = ServiceWorker(candor.settings, queue)
    parts = await start_jobs(candor, stack, queue, listeners, worker=worker)
    await worker.start(parts.runs)
    return parts


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
    peers = Peers(settings, candor.engine, queue) if settings.shares_jobs else None
    jobs = Jobs(queue, peers, worker)
    if peers:
        await peers.start(jobs)
        stack.push_async_callback(peers.leave)
    listener, make_models = Listener(candor.engine), cache(candor.panel.models)
    runs = Runs(candor.trace, candor.callers, candor.panel, pool, jobs, listener, make_models)
    IngestJobs(candor.ingest, pool, jobs)
    EvaluationJobs(candor.evaluations, candor.callers, pool, jobs, make_models)
    TableJobs(candor.tables, candor.callers, pool, jobs, make_models)
    runs.listeners.extend(listeners)
    runs.on_release = on_release
    await asyncio.to_thread(candor.uploads.clear)
    await stack.enter_async_context(listener.listening())
    await jobs.start()
    stack.push_async_callback(jobs.close)
    stack.push_async_callback(runs.stop)
    await runs.recover()
    return JobParts(pool, jobs, runs, worker)
