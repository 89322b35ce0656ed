"""Workers share the jobs of a Postgres database and a Qdrant server. Each worker is a process of its own."""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.jobs.assembly import JobParts, start_jobs
from api.jobs.handlers import submit_ingest
from api.jobs.models import JobStatus
from api.jobs.queue import JobQueue
from api.settings import ServiceSettings, Settings
from api.storage.live_processes import live_processes
from ingest.ledger.lock import ingest_lock
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.tally import IngestReport
from multi_agent.values.events import RunFinished, RunResumed
from multi_agent.values.request import Request
from support.jobs import wait_until_ended
from support.panel import SYNTHESIS, Panel, role_of
from support.qdrant import needs_qdrant, running_qdrant
from support.replies import Reply, held_until
from support.replies import Request as Call
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, wait_for
from support.worker_process import WorkerProcess
from vectorstore.embedding.embedder import Embedder
from vectorstore.settings import VectorStoreSettings

pytestmark = needs_qdrant

TAKEOVER_S = 4.0
FILES = 300
QUESTION = Request(question="Down to which temperature does the Borea 12 work?")
"""The model writes the answer once ``resume`` is set."""


class Running(NamedTuple):
    """A run, the number of model calls before it, and the worker that runs it."""

    id: str
    before: int
    worker: WorkerProcess


resume = threading.Event()
_panel = Panel("-25 °C")


def model(request: Call) -> Reply:
    played = _panel(request)
    assert isinstance(played, str)
    return held_until(resume, played) if role_of(request) == SYNTHESIS else Reply(text=played)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(model) as running:
        yield running


@pytest.fixture(scope="module")
def candor(
    tmp_path_factory: pytest.TempPathFactory, postgres: str, endpoint: ScriptedEndpoint, embedder: Embedder
) -> Iterator[Candor]:
    """Candor on the shared database and Qdrant server, with a document in `papers`. It can submit jobs."""
    folder = tmp_path_factory.mktemp("papers")
    (folder / "pumps.md").write_text("# Pumps\n\n## Limits\n\nThe Borea 12 works down to -25 °C.\n")
    with running_qdrant() as node:
        candor = Candor(
            Settings(
                home=tmp_path_factory.mktemp("front"),
                database_url=postgres,
                store=VectorStoreSettings(url=node.url),
                llm=endpoint.settings("openai"),
                service=ServiceSettings(takeover_s=TAKEOVER_S, uploads_folder=tmp_path_factory.mktemp("uploads")),
            )
        )
        candor.embedder = embedder
        run_ingest(candor, [folder], "papers", progress=False)
        yield candor


@pytest.fixture(scope="module")
def workers(candor: Candor, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[WorkerProcess]]:
    """Two workers."""
    started = [make_worker(candor, tmp_path_factory.mktemp("worker")) for _ in range(2)]
    for worker in started:
        worker.launch()
    try:
        for worker in started:
            worker.wait_until_ready()
        yield started
    finally:
        for worker in started:
            worker.end()


@pytest.fixture
async def front(candor: Candor) -> AsyncIterator[JobParts]:
    """The jobs of a process that submits them, and takes none."""
    resume.clear()
    async with AsyncExitStack() as stack:
        yield await start_jobs(candor, stack, JobQueue(candor.settings, ()))


def make_worker(candor: Candor, home: Path) -> WorkerProcess:
    settings = candor.settings
    assert settings.database_url
    return WorkerProcess(
        home, "--queues", "research,ingest",
        CANDOR_DATABASE_URL=settings.database_url.get_secret_value(), CANDOR_STORE__URL=settings.store.url or "",
        CANDOR_LLM__PROVIDER="openai", CANDOR_LLM__BASE_URL=settings.llm.base_url or "",
        CANDOR_LLM__MODEL=settings.llm.model, CANDOR_SERVICE__TAKEOVER_S=str(TAKEOVER_S),
        CANDOR_SERVICE__UPLOADS_FOLDER=str(settings.uploads_folder), CANDOR_INGEST__EMBED_BATCH="10",
    )  # fmt: skip


async def start_run(front: JobParts, endpoint: ScriptedEndpoint, workers: list[WorkerProcess]) -> Running:
    """Start a run, wait until its worker waits for the answer, and return both."""
    run_id = await front.runs.start(QUESTION, "papers", LOCAL_CALLER)
    before = len(endpoint.requests)
    await wait_for(lambda: SYNTHESIS in [role_of(each) for each in endpoint.requests[before:]])
    return Running(run_id, before, await runner_of(front, run_id, workers))


async def runner_of(front: JobParts, run_id: str, workers: list[WorkerProcess]) -> WorkerProcess:
    """Return the worker that runs the job, once there is one."""
    ids = [each.id for each in workers]
    async with asyncio.timeout(LIMIT_S):
        while True:
            stored = await front.jobs._queue.get(run_id)
            assert not stored.job.status.ended, stored.job.error
            if stored.job.status is JobStatus.RUNNING and stored.executor in ids:
                return workers[ids.index(stored.executor)]
            await asyncio.sleep(0.05)


async def progress_of(front: JobParts, job_id: str, files: int) -> None:
    """Wait until an ingest of another process has done this number of files."""
    async with asyncio.timeout(LIMIT_S):
        while True:
            job = await front.jobs.get(job_id)
            assert not job.status.ended, job
            if isinstance(job.progress, dict) and int(str(job.progress["files_done"])) >= files:
                return
            await asyncio.sleep(0.05)


async def end_of(candor: Candor, run_id: str) -> Counter[str]:
    """Wait for the end of a run. Return the calls in its journal, by role."""
    await wait_for(lambda: candor.trace.run(run_id).ended)
    assert candor.trace.answer(run_id).status == "answered"
    events = candor.trace.events(run_id)
    assert [event.number for event in events] == list(range(1, len(events) + 1))
    assert sum(isinstance(event.body, RunFinished) for event in events) == 1
    return Counter(entry.response_model for entry in candor.trace.journal_entries(run_id))


def other_than(worker: WorkerProcess, workers: list[WorkerProcess]) -> list[WorkerProcess]:
    return [each for each in workers if each is not worker]


async def test_live_workers_are_listed(front: JobParts, candor: Candor, workers: list[WorkerProcess]) -> None:
    listed = {process.id: process for process in live_processes(candor.engine)}
    assert listed.keys() == {front.jobs._queue.executor, *(worker.id for worker in workers)}
    for worker in workers:
        assert (listed[worker.id].process, listed[worker.id].queues) == (worker.process.pid, ("research", "ingest"))


async def test_a_job_of_a_worker_is_cancelled_from_another_process(
    front: JobParts, candor: Candor, endpoint: ScriptedEndpoint, workers: list[WorkerProcess]
) -> None:
    running = await start_run(front, endpoint, workers)
    assert (await front.jobs.get(running.id)).status is JobStatus.RUNNING
    await front.runs.cancel(running.id)
    await wait_for(lambda: candor.trace.run(running.id).ended)
    assert candor.trace.answer(running.id).status == "cancelled"
    assert (await wait_until_ended(front.jobs, running.id)).status is JobStatus.CANCELLED


async def test_a_frozen_worker_cannot_change_a_run_that_another_continues(
    front: JobParts, candor: Candor, endpoint: ScriptedEndpoint, workers: list[WorkerProcess]
) -> None:
    running = await start_run(front, endpoint, workers)
    running.worker.freeze()
    others = other_than(running.worker, workers)
    await runner_of(front, running.id, others)
    await wait_for(lambda: asked(endpoint, running)[SYNTHESIS] == 2)
    resume.set()  # both now have their answer, and the frozen one wakes up with it
    running.worker.thaw()
    journal = await end_of(candor, running.id)
    assert set(journal.values()) == {1}
    assert asked(endpoint, running) == journal + Counter([SYNTHESIS]), "only the call in flight was repeated"
    await wait_for(lambda: "takes jobs again" in running.worker.errors)
    assert {process.id for process in live_processes(candor.engine)} >= {worker.id for worker in workers}
    assert "Traceback" not in others[0].errors


async def test_an_ingest_of_a_frozen_worker_is_continued_and_each_file_is_done_once(
    front: JobParts, candor: Candor, workers: list[WorkerProcess]
) -> None:
    folder = candor.uploads.folder("notes")
    folder.mkdir()
    paths = [folder / f"{number}.md" for number in range(FILES)]
    for path in paths:
        path.write_text(f"# Note\n\nPump {path.stem} is blue.\n")
    spec = IngestRequest(collection="notes", paths=tuple(map(str, paths)))
    job = await submit_ingest(front.jobs, spec, LOCAL_CALLER)

    worker = await runner_of(front, job.id, workers)
    await progress_of(front, job.id, FILES // 10)
    worker.freeze()
    await runner_of(front, job.id, other_than(worker, workers))
    worker.thaw()
    ended = await wait_until_ended(front.jobs, job.id)
    assert (ended.status, ended.error) == (JobStatus.DONE, None)
    report = IngestReport.model_validate(ended.result)
    assert 0 < report.unchanged < FILES
    assert report.indexed + report.unchanged == FILES
    assert Counter(found.chunks for found in candor.ledger.snapshot("notes").values()) == {1: FILES}
    with candor.collections.open("notes") as notes:
        assert notes.count().chunks == FILES
    await wait_for(lambda: worker.errors.count("takes jobs again") == worker.errors.count("stops its jobs"))


async def test_an_ingest_of_a_worker_says_in_all_processes_what_it_waits_for(
    front: JobParts, candor: Candor, workers: list[WorkerProcess]
) -> None:
    folder = candor.uploads.folder("waiting")
    folder.mkdir()
    (folder / "note.md").write_text("# Note\n\nThe pump is blue.\n")
    with ingest_lock(candor.engine, "waiting"):
        spec = IngestRequest(collection="waiting", paths=(str(folder / "note.md"),))
        job = await submit_ingest(front.jobs, spec, LOCAL_CALLER)
        async with asyncio.timeout(LIMIT_S):
            while not (waiting := await front.jobs.get(job.id)).waits_for:  # noqa: ASYNC110 (a worker stores it)
                await asyncio.sleep(0.05)
        assert waiting.status is JobStatus.WAITING
        assert f"being changed by process {os.getpid()}" in waiting.waits_for
    assert (await wait_until_ended(front.jobs, job.id)).status is JobStatus.DONE


async def test_a_worker_that_is_stopped_hands_over_at_once_and_a_killed_one_soon(
    front: JobParts, candor: Candor, endpoint: ScriptedEndpoint, workers: list[WorkerProcess]
) -> None:
    running = await start_run(front, endpoint, workers)
    others = other_than(running.worker, workers)
    assert running.worker.stop() == 0
    await runner_of(front, running.id, others)
    await wait_for(lambda: asked(endpoint, running)[SYNTHESIS] == 2)
    running.worker.start()
    [killed] = others
    killed.kill()
    began = time.monotonic()
    await runner_of(front, running.id, [running.worker])
    taken_s = time.monotonic() - began
    await wait_for(lambda: asked(endpoint, running)[SYNTHESIS] == 3)
    resume.set()
    journal = await end_of(candor, running.id)
    assert set(journal.values()) == {1}
    assert asked(endpoint, running) == journal + Counter([SYNTHESIS, SYNTHESIS]), "finished calls were not repeated"
    assert sum(isinstance(event.body, RunResumed) for event in candor.trace.events(running.id)) == 2
    assert taken_s < 5 * TAKEOVER_S


def asked(endpoint: ScriptedEndpoint, running: Running) -> Counter[str]:
    """Return the calls that the endpoint received for the run, by role."""
    return Counter(role_of(each) for each in endpoint.requests[running.before :] if each.schema)
