"""Processes that share a Postgres server: its restarts, its clock, and how many connections they hold."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest
import sqlalchemy as sql
from pydantic import SecretStr

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.jobs.assembly import JobParts, start_jobs, start_service
from api.jobs.handlers import submit_ingest
from api.jobs.models import JobStatus
from api.jobs.queue import JobQueue
from api.settings import ServiceSettings, Settings
from ingest.errors import IngestUnderWay
from ingest.ledger import lock
from ingest.ledger.lock import ingest_lock
from ingest.pipeline.plan import IngestRequest
from support.jobs import wait_until_ended
from support.postgres import PostgresServer
from support.qdrant import needs_qdrant, running_qdrant
from support.service import RunningService
from support.waiting import LIMIT_S, until
from support.worker_process import WorkerProcess
from vectorstore.embedding.embedder import Embedder
from vectorstore.errors import StoreKeyRejected
from vectorstore.settings import VectorStoreSettings

pytestmark = needs_qdrant

CONNECTIONS = 8
OF_CANDOR = "SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"


@pytest.fixture(scope="module")
def candor(tmp_path_factory: pytest.TempPathFactory, postgres: str, embedder: Embedder) -> Iterator[Candor]:
    with running_qdrant() as node:
        service = ServiceSettings(uploads_folder=tmp_path_factory.mktemp("uploads"), concurrent_ingests=4)
        store = VectorStoreSettings(url=node.url)
        settings = Settings(home=tmp_path_factory.mktemp("home"), database_url=postgres, store=store, service=service)
        candor = Candor(settings)
        candor.embedder = embedder
        yield candor
        candor.engine.dispose()


@pytest.fixture
async def parts(candor: Candor) -> AsyncIterator[JobParts]:
    async with AsyncExitStack() as stack:
        yield await start_jobs(candor, stack, JobQueue(candor.settings))


async def submit(candor: Candor, parts: JobParts, name: str) -> str:
    """Submit the ingest of one file into `papers`. Return the id of the job."""
    folder = candor.uploads.folder("papers")
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(f"# Note\n\nPump {name} is blue.\n")
    spec = IngestRequest(collection="papers", paths=(str(folder / f"{name}.md"),))
    return (await submit_ingest(parts.jobs, spec, LOCAL_CALLER)).id


async def reason_of_waiting(parts: JobParts, job_id: str, text: str) -> None:
    async with asyncio.timeout(LIMIT_S):
        while True:
            state = parts.jobs.states().get(job_id)
            if state and text in (state.waits_for or ""):
                return
            await asyncio.sleep(0.02)


async def wait_until_it_takes(queues: str, candor: Candor) -> None:
    """Wait until the only process takes these jobs."""

    def processes() -> str:
        return next(each for each in candor.doctor.check_parts() if each.name == "processes").detail

    async with asyncio.timeout(LIMIT_S):
        while not (await asyncio.to_thread(processes)).endswith(f"process {os.getpid()}: {queues}"):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


async def test_ingests_that_wait_for_a_collection_survive_restarts_of_postgres(
    candor: Candor, parts: JobParts, postgres_server: PostgresServer
) -> None:
    with ingest_lock(candor.engine, "papers"):
        first = await submit(candor, parts, "first")
        second = await submit(candor, parts, "second")
        for _ in range(2):
            await reason_of_waiting(parts, first, "is being changed by process")
            await asyncio.to_thread(postgres_server.stop)
            await reason_of_waiting(parts, first, "The database is away")
            await asyncio.to_thread(postgres_server.start)
            await reason_of_waiting(parts, first, "is being changed by process")
    for job_id in (first, second):
        ended = await wait_until_ended(parts.jobs, job_id)
        assert (ended.status, ended.error) == (JobStatus.DONE, None)
    assert {document.name for document in candor.ledger.snapshot("papers").values()} == {"first.md", "second.md"}


async def test_an_ingest_fails_if_postgres_stays_away(
    candor: Candor, parts: JobParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lose(*_: object, **__: object) -> None:
        with candor.engine.connect() as connection:
            connection.execute(sql.text("SELECT pg_terminate_backend(pg_backend_pid())"))

    monkeypatch.setattr("api.jobs.handlers.run_ingest_job", lose)
    monkeypatch.setattr("api.jobs.handlers._AWAY_S", 2.0)
    ended = await wait_until_ended(parts.jobs, await submit(candor, parts, "lost"))
    assert ended.status is JobStatus.FAILED
    assert "terminating connection" in str(ended.error)


async def test_an_ingest_waits_while_the_store_rejects_the_key(
    candor: Candor, parts: JobParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reject(*_: object, **__: object) -> None:
        raise StoreKeyRejected("The Qdrant server rejects the API key.")

    with monkeypatch.context() as patched:
        patched.setattr("api.jobs.handlers.run_ingest_job", reject)
        job_id = await submit(candor, parts, "rejected")
        await reason_of_waiting(parts, job_id, "rejects the API key")
    assert (await wait_until_ended(parts.jobs, job_id)).status is JobStatus.DONE


async def test_a_process_that_loses_its_key_leaves_its_jobs_to_others(
    candor: Candor, parts: JobParts, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def reject(*_: object, **__: object) -> None:
        raise StoreKeyRejected("The Qdrant server rejects the API key.")

    monkeypatch.setattr("api.jobs.peers._CHECK_S", 0.2)
    with ingest_lock(candor.engine, "papers"):
        held = await submit(candor, parts, "held")
        await reason_of_waiting(parts, held, "is being changed by process")
        with monkeypatch.context() as patched:
            patched.setattr(candor.store, "require_writable", reject)
            await wait_until_it_takes("no jobs", candor)
            assert parts.jobs.states() == {}
            assert "This process takes no jobs; others may take them. The Qdrant server rejects" in caplog.text
            store = next(each for each in candor.doctor.check_parts() if each.name == "store")
            assert (store.ok, store.remedy) == (False, "The Qdrant server rejects the API key.")
            kept = await submit(candor, parts, "kept")
        await wait_until_it_takes("research, ingest, evaluation, table", candor)
        await reason_of_waiting(parts, held, "is being changed by process")
    for job_id in (held, kept):
        assert (await wait_until_ended(parts.jobs, job_id)).status is JobStatus.DONE


async def test_a_process_holds_at_most_as_many_connections_as_the_setting_says(candor: Candor, parts: JobParts) -> None:
    jobs = [await submit(candor, parts, f"many {number}") for number in range(6)]
    watching, most = sql.create_engine(candor.engine.url, poolclass=sql.NullPool, isolation_level="AUTOCOMMIT"), 0
    with watching.connect() as connection:
        while not all([(await parts.jobs.get(each)).status.ended for each in jobs]):
            await asyncio.gather(*(asyncio.to_thread(candor.trace.runs) for _ in range(10)))
            most = max(most, connection.scalar(sql.text(OF_CANDOR)) or 0)
    assert {(await parts.jobs.get(each)).status for each in jobs} == {JobStatus.DONE}
    assert 3 <= most <= CONNECTIONS


def test_readyz_says_that_postgres_is_frozen(candor: Candor, postgres_server: PostgresServer) -> None:
    with RunningService(candor) as service:
        until(lambda: httpx.get(f"{service.url}/readyz", timeout=LIMIT_S).status_code == 200)
        postgres_server.freeze()
        try:
            frozen = httpx.get(f"{service.url}/readyz", timeout=LIMIT_S / 3)
        finally:
            postgres_server.thaw()
        assert frozen.status_code == 503
        until(lambda: httpx.get(f"{service.url}/readyz", timeout=LIMIT_S).status_code == 200)


def worker_of(candor: Candor, home: Path, **environment: str) -> WorkerProcess:
    return WorkerProcess(
        home, "--queues", "research", CANDOR_DATABASE_URL=candor.engine.url.render_as_string(hide_password=False),
        **{"CANDOR_STORE__URL": candor.settings.store.url or ""} | environment,
    )  # fmt: skip


def test_a_worker_that_starts_while_postgres_is_away_waits(
    candor: Candor, tmp_path: Path, postgres_server: PostgresServer
) -> None:
    postgres_server.stop()
    worker = worker_of(candor, tmp_path)
    worker.launch()
    try:
        until(lambda: "waits for the database" in worker.errors)
        postgres_server.start()
        worker.wait_until_ready()
    finally:
        worker.end()


def test_a_worker_that_cannot_write_the_store_takes_no_jobs(
    candor: Candor, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QDRANT__SERVICE__API_KEY", "writer")
    monkeypatch.setenv("QDRANT__SERVICE__READ_ONLY_API_KEY", "reader")
    with running_qdrant() as node:
        worker = worker_of(candor, tmp_path, CANDOR_STORE__URL=node.url, CANDOR_STORE__API_KEY="reader")
        worker.launch()
        assert worker.process.wait(LIMIT_S) != 0
        assert "key with write permission" in worker.errors
        store = candor.settings.store.model_copy(update={"url": node.url, "api_key": SecretStr("reader")})
        home = tmp_path_factory.mktemp("reader")
        reader = Candor(candor.settings.model_copy(update={"store": store, "home": home}))
        [check] = [each for each in reader.doctor.check_parts() if each.name == "store"]
        assert (check.ok, "write permission" in check.remedy) == (False, True)
        reader.engine.dispose()


async def test_a_service_that_cannot_write_the_store_leaves_ingests_to_others(
    candor: Candor, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("QDRANT__SERVICE__API_KEY", "writer")
    monkeypatch.setenv("QDRANT__SERVICE__READ_ONLY_API_KEY", "reader")
    with running_qdrant() as node:

        def with_key(key: str) -> Candor:
            store = candor.settings.store.model_copy(update={"url": node.url, "api_key": SecretStr(key)})
            made = Candor(candor.settings.model_copy(update={"store": store, "home": tmp_path / key}))
            made.embedder = candor.embedder
            return made

        async with AsyncExitStack() as stack:
            reader = with_key("reader")
            parts = await start_service(reader, stack, ())
            job_id = await submit(reader, parts, "left")
            await wait_until_it_takes("no jobs", reader)
            assert "This process takes no jobs; others may take them. The Qdrant server rejects" in caplog.text
        async with AsyncExitStack() as stack:
            parts = await start_jobs(writer := with_key("writer"), stack, JobQueue(writer.settings))
            ended = await wait_until_ended(parts.jobs, job_id)
            assert (ended.status, ended.error) == (JobStatus.DONE, None)
            [check] = [each for each in writer.doctor.check_parts() if each.name == "store"]
            assert (check.ok, "the API key is sent without TLS" in check.detail) == (True, True)
        for each in (reader, writer):
            each.engine.dispose()


def test_the_clock_of_postgres_decides_whether_a_lock_is_stale(candor: Candor, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    with ingest_lock(candor.engine, "clocks"):
        with candor.engine.begin() as connection:
            connection.execute(sql.update(lock.UNDER_WAY).values(host="elsewhere"))
        monkeypatch.setattr("ingest.ledger.lock.time.time", lambda: now + 3600)
        with pytest.raises(IngestUnderWay, match="on elsewhere"), ingest_lock(candor.engine, "clocks"):
            pass
        monkeypatch.undo()
