"""Sources with a schedule are synced when they are due, and only once by all services that share the jobs."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from pydantic import JsonValue

from api.bootstrap import Candor
from api.jobs import handlers
from api.jobs.handlers import sync_on_schedule
from api.jobs.models import ActiveJob, JobHandler, JobKind
from api.jobs.queue import JobQueue
from api.jobs.runner import Jobs
from api.settings import Settings
from ingest.ledger.sources import SourceRecord, SourceTable
from ingest.pipeline.plan import IngestRequest
from support.jobs import running
from support.waiting import wait_for

HOURLY = SourceRecord(collection="papers", name="hourly", address="memory://x", every="1h")
NEVER = SourceRecord(collection="papers", name="never", address="memory://y")


class Handler(JobHandler):
    """Records the synced sources. Each sync waits until it may go on."""

    def __init__(self) -> None:
        self.sources: list[str] = []
        self.may_end = asyncio.Event()

    async def run(self, job: ActiveJob) -> JsonValue:
        self.sources.append(IngestRequest.model_validate_json(job.spec.content).source)
        await self.may_end.wait()
        return None


@pytest.fixture
def handler() -> Handler:
    return Handler()


@pytest.fixture(params=[2])
async def table(
    tmp_path: Path, handler: Handler, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> AsyncIterator[SourceTable]:
    """Return the table of sources that several running services share."""
    monkeypatch.setattr(handlers, "_LOOK_S", 0.01)
    found = Candor(Settings(home=tmp_path)).sources.table
    jobs = Jobs(JobQueue(Settings(home=tmp_path)))
    jobs.register(JobKind.INGEST, handler)
    async with running(jobs):
        services = [asyncio.create_task(sync_on_schedule(found, jobs)) for _ in range(request.param)]
        yield found
        for service in services:
            service.cancel()
        await asyncio.wait(services)


async def test_a_due_source_is_synced_once_and_again_when_it_is_due_again(table: SourceTable, handler: Handler) -> None:
    table.put(NEVER)
    table.put(HOURLY)
    await wait_for(lambda: handler.sources)
    table.note(HOURLY, 1, "")
    handler.may_end.set()
    past = datetime.now(UTC) - timedelta(hours=1)
    table.put(HOURLY.model_copy(update={"synced_at": past, "error": "It cannot be reached."}))
    await wait_for(lambda: len(handler.sources) > 1)
    table.note(HOURLY, 1, "")
    assert handler.sources == ["hourly", "hourly"]


@pytest.mark.parametrize("table", [1], indirect=True)
async def test_a_sync_that_takes_longer_than_its_interval_is_not_queued_again(
    table: SourceTable, handler: Handler, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[SourceTable] = []
    hours = count()
    monkeypatch.setattr(handlers, "time", SimpleNamespace(time=lambda: next(hours) * 3600.0))
    monkeypatch.setattr(SourceTable, "list", lambda self: looks.append(self) or [HOURLY])
    await wait_for(lambda: handler.sources)
    looks.clear()
    await wait_for(lambda: len(looks) > 5)
    assert (handler.sources, next(hours)) == (["hourly"], 1)
    monkeypatch.setattr(SourceTable, "list", lambda _: [])
    handler.may_end.set()
