"""Processes on one Postgres database share a limit of concurrent requests, fairly, and release slots when killed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import sqlalchemy as sql

from api.bootstrap import Candor
from api.storage import advisory_locks
from api.storage.advisory_locks import AdvisoryLocks
from base.models import FrozenModel
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import LLM, Message
from support.postgres import PostgresServer
from support.replies import delayed, hang, held_until_together
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, wait_for

THIS, OTHER = "this process", "other process"
YES = '{"word": "yes"}'
_ASK = """
import asyncio, sys
import sqlalchemy as sql
from api.storage.advisory_locks import AdvisoryLocks
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from test_advisory_locks import OTHER, ask
async def main():
    locks = AdvisoryLocks(sql.create_engine(sys.argv[2]))
    llm = build_llm(EndpointSettings.model_validate_json(sys.argv[1]), make_locks=locks.for_endpoint)
    await asyncio.gather(*(ask(llm, OTHER) for _ in range(int(sys.argv[3]))))
asyncio.run(main())
"""


class Word(FrozenModel):
    """The model's answer."""

    word: str


async def ask(llm: LLM, text: str) -> None:
    await llm.complete([Message.user(text)], Word)


@pytest.fixture
def locks(postgres_server: PostgresServer) -> Iterator[AdvisoryLocks]:
    """The locks of this process."""
    engine = sql.create_engine(postgres_server.url)
    locks = AdvisoryLocks(engine)
    yield locks
    locks.close()
    engine.dispose()


def start_process(settings: EndpointSettings, url: str, count: int) -> subprocess.Popen[bytes]:
    """Start a process that makes ``count`` concurrent requests."""
    given = settings.model_dump_json(exclude={"api_key"})
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", _ASK, given, url, str(count)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths})


def processes(endpoint: ScriptedEndpoint) -> list[str]:
    """Return the process of each request, in order of arrival."""
    return [THIS if THIS in request.prompt else OTHER for request in endpoint.requests]


async def wait_for_requests(endpoint: ScriptedEndpoint, count: int = 1) -> None:
    await wait_for(lambda: len(endpoint.requests) >= count)


async def test_the_limit_holds_over_two_processes(postgres_server: PostgresServer, locks: AdvisoryLocks) -> None:
    with ScriptedEndpoint(held_until_together(3, lambda _: delayed(YES, 0.2))) as endpoint:
        settings = endpoint.settings("openai", parallel=3)
        with start_process(settings, postgres_server.url, 9) as other:
            await wait_for_requests(endpoint)
            llms = [build_llm(settings, make_locks=locks.for_endpoint) for _ in range(2)]
            await asyncio.gather(*(ask(llm, THIS) for llm in llms for _ in range(5)))
    assert other.returncode == 0
    assert sorted(processes(endpoint)) == sorted([THIS] * 10 + [OTHER] * 9)
    assert endpoint.peak == 3


async def test_a_busy_process_does_not_starve_another(postgres_server: PostgresServer, locks: AdvisoryLocks) -> None:
    with ScriptedEndpoint(lambda _: delayed(YES, 0.1)) as endpoint:
        settings = endpoint.settings("openai", parallel=1)
        llm = build_llm(settings, make_locks=locks.for_endpoint)
        await ask(llm, THIS)  # imports what it needs, which takes long on a slow machine
        with start_process(settings, postgres_server.url, 30):
            await wait_for_requests(endpoint, 2)
            await ask(llm, THIS)
    assert THIS in processes(endpoint)[2:-1], "before the last request of the other process"


async def test_a_killed_process_releases_its_slots(postgres_server: PostgresServer, locks: AdvisoryLocks) -> None:
    with ScriptedEndpoint(lambda request: hang() if OTHER in request.prompt else YES) as endpoint:
        settings = endpoint.settings("openai", parallel=2)
        with start_process(settings, postgres_server.url, 3) as other:
            await wait_for_requests(endpoint, 2)
            waiting = asyncio.create_task(ask(build_llm(settings, make_locks=locks.for_endpoint), THIS))
            _, late = await asyncio.wait({waiting}, timeout=0.3)
            assert late == {waiting}, "both slots are taken"
            other.kill()
        await asyncio.wait_for(waiting, LIMIT_S)


async def test_a_cancelled_request_holds_no_slot(locks: AdvisoryLocks) -> None:
    with ScriptedEndpoint(lambda request: hang() if request.number == 1 else YES) as endpoint:
        settings = endpoint.settings("openai", parallel=1)
        first, second = (build_llm(settings, make_locks=locks.for_endpoint) for _ in range(2))
        held = asyncio.create_task(ask(first, THIS))
        await wait_for_requests(endpoint)
        for moment in range(20):  # cancel while Postgres is asked, and while the request waits
            waiting = asyncio.create_task(ask(second, THIS))
            for _ in range(moment):
                await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)
        await asyncio.wait_for(ask(first, THIS), LIMIT_S)
        await asyncio.wait_for(ask(second, THIS), LIMIT_S)


async def test_requests_wait_while_postgres_restarts(postgres_server: PostgresServer, locks: AdvisoryLocks) -> None:
    with ScriptedEndpoint(lambda request: hang() if request.number == 1 else YES) as endpoint:
        llm = build_llm(endpoint.settings("openai", parallel=1), make_locks=locks.for_endpoint)
        held = asyncio.create_task(ask(llm, THIS))
        await wait_for_requests(endpoint)
        postgres_server.stop()
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)
        waiting = asyncio.create_task(ask(llm, THIS))
        await asyncio.sleep(0)
        postgres_server.start()
        await asyncio.wait_for(waiting, LIMIT_S)


def test_only_an_address_of_this_machine_has_a_limit_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    def keys(**settings: str) -> set[str]:
        """Return the identities of one endpoint on two machines."""
        found = set()
        for machine in ("first", "second"):
            monkeypatch.setattr(advisory_locks.socket, "gethostname", lambda name=machine: name)
            found.add(advisory_locks._shared_identity(EndpointSettings.model_validate(settings)))
        return found

    assert len(keys(provider="openai", base_url="https://models.example/v1")) == 1
    assert keys(provider="openai", base_url="https://ann:secret@models.example/v1") == keys(
        provider="openai", base_url="https://models.example/v1"
    )
    for local in ("http://localhost:11434", "http://127.0.0.1:11434", "http://[::1]:11434", "http://0.0.0.0:11434"):
        assert len(keys(provider="ollama", base_url=local)) == 2, local
    assert len(keys(provider="local", model="model.gguf")) == 2


async def test_research_on_postgres_uses_these_locks(
    postgres_server: PostgresServer, make_candor: Callable[..., Candor]
) -> None:
    engine = sql.create_engine(postgres_server.url)
    held = sql.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid = 2")
    with ScriptedEndpoint(lambda _: hang()) as endpoint:
        candor = make_candor(database_url=postgres_server.url, llm=endpoint.settings("openai"))
        asking = asyncio.create_task(ask(candor.panel.models().default, THIS))
        await wait_for_requests(endpoint)
        with engine.connect() as connection:
            assert connection.scalar(held) == 1
        asking.cancel()
        await asyncio.gather(asking, return_exceptions=True)
    assert not list((candor.settings.home / "endpoints").glob("*/*.lock"))
    engine.dispose()
