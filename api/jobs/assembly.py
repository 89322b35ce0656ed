"""Connects the jobs with the code that runs them, for the service and for workers."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from api.bootstrap import Candor
from api.jobs.evaluation import EvaluationJobs
from api.jobs.ingest import IngestJobs
from api.jobs.models import JobKind
from api.jobs.peers import Peers
from api.jobs.queue import JobQueue
from api.jobs.research import Runs
from api.jobs.runner import Jobs
from api.services.documents.collection_pool import CollectionPool
from api.storage.fencing import with_process
from api.storage.notifications import Listener
from api.workers.contract import Researcher
from api.workers.factory import open_researcher
from api.workers.in_process import InProcessResearcher
from multi_agent.values.bus import Subscriber
from vectorstore.remote.process import SearchProcess


@dataclass(frozen=True)
class JobParts:
    """The running jobs of a process, with the parts that they use."""

    searches: SearchProcess
    pool: CollectionPool
    queue: JobQueue
    jobs: Jobs
    runs: Runs
    researcher: Researcher


async def start_jobs(
    candor: Candor,
    stack: AsyncExitStack,
    kinds: Collection[JobKind] = tuple(JobKind),
    listeners: Sequence[Subscriber] = (),
) -> JobParts:
    """Start to take jobs of these kinds. ``stack`` stops everything in reverse order. ``listeners`` hear every event.

    Raises HomeError, SQLAlchemyError, StoreError.
    """
    settings = candor.settings
    await asyncio.to_thread(lambda: candor.engine)  # upgrades the schema before the research process opens it
    searches = stack.enter_context(candor.serve_store())
    pool, queue = CollectionPool(candor.collections), JobQueue(settings, kinds)
    stack.push_async_callback(asyncio.to_thread, pool.close)
    peers = Peers(settings, candor.engine, queue) if settings.shares_jobs else None
    jobs = Jobs(queue, peers)
    if peers:
        await peers.start(jobs)
        stack.push_async_callback(peers.leave)
        settings = with_process(settings, queue.executor)
    researcher = await stack.enter_async_context(
        open_researcher(settings, lambda: InProcessResearcher(candor.panel, candor.evaluations, pool))
    )
    listener = Listener(candor.engine)
    runs = Runs(candor.trace, candor.keys, candor.panel, pool, jobs, researcher, listener)
    IngestJobs(candor.ingest, pool, jobs)
    EvaluationJobs(candor.evaluations.store, candor.keys, jobs, researcher)
    runs.listeners.extend(listeners)
    await asyncio.to_thread(candor.uploads.clear)
    await stack.enter_async_context(listener.listening())
    await jobs.start()
    stack.push_async_callback(jobs.close)
    stack.push_async_callback(runs.stop)
    await runs.recover()
    return JobParts(searches, pool, queue, jobs, runs, researcher)
