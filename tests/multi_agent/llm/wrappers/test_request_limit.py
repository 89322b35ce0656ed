"""Processes with the same folder share a limit of concurrent requests, fairly, and release slots when killed."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from pathlib import Path

from base.models import FrozenModel
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import LLM, Message
from support.replies import Request, Responder, delayed, hang, held_until_together
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, wait_for

THIS, OTHER = "this process", "other process"
_ASK = """
import asyncio, sys
from pathlib import Path
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from test_request_limit import OTHER, ask
async def main():
    llm = build_llm(EndpointSettings.model_validate_json(sys.argv[1]), Path(sys.argv[2]))
    await asyncio.gather(*(ask(llm, OTHER) for _ in range(int(sys.argv[3]))))
asyncio.run(main())
"""


class Word(FrozenModel):
    """The model's answer."""

    word: str


async def ask(llm: LLM, text: str) -> None:
    await llm.complete([Message.user(text)], Word)


def start_process(settings: EndpointSettings, folder: Path, count: int) -> subprocess.Popen[bytes]:
    """Start a process that makes ``count`` concurrent requests."""
    given = settings.model_dump_json(exclude={"api_key"})
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", _ASK, given, str(folder), str(count)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths})


def processes(endpoint: ScriptedEndpoint) -> list[str]:
    """Return the process of each request, in order of arrival."""
    return [THIS if THIS in request.prompt else OTHER for request in endpoint.requests]


async def wait_for_requests(endpoint: ScriptedEndpoint, count: int = 1) -> None:
    await wait_for(lambda: len(endpoint.requests) >= count)


def answer_in(seconds: float) -> Responder:
    return lambda _: delayed('{"word": "yes"}', seconds)


async def test_the_limit_holds_over_all_processes(tmp_path: Path) -> None:
    with ScriptedEndpoint(held_until_together(3, answer_in(0.2))) as endpoint:
        settings = endpoint.settings("openai", parallel=3)
        with start_process(settings, tmp_path, 9) as other:
            await wait_for_requests(endpoint)
            llms = build_llm(settings, tmp_path), build_llm(settings, tmp_path)
            await asyncio.gather(*(ask(llm, THIS) for llm in llms for _ in range(5)))
    assert other.returncode == 0
    assert sorted(processes(endpoint)) == sorted([THIS] * 10 + [OTHER] * 9)
    assert endpoint.peak == 3


async def test_a_busy_process_does_not_starve_another(tmp_path: Path) -> None:
    with ScriptedEndpoint(answer_in(0.1)) as endpoint:
        settings = endpoint.settings("openai", parallel=1)
        llm = build_llm(settings, tmp_path)
        await ask(llm, THIS)  # imports what it needs, which takes long on a slow machine
        with start_process(settings, tmp_path, 30):
            await wait_for_requests(endpoint, 2)
            await ask(llm, THIS)
    assert THIS in processes(endpoint)[2:-1], "before the last request of the other process"


async def test_a_killed_process_releases_its_slots(tmp_path: Path) -> None:
    def respond(request: Request) -> object:
        return hang() if OTHER in request.prompt else '{"word": "yes"}'

    with ScriptedEndpoint(respond) as endpoint:
        settings = endpoint.settings("openai", parallel=2)
        with start_process(settings, tmp_path, 3) as other:
            await wait_for_requests(endpoint, 2)
            waiting = asyncio.create_task(ask(build_llm(settings, tmp_path), THIS))
            _, late = await asyncio.wait({waiting}, timeout=0.3)
            assert late == {waiting}, "both slots are taken"
            other.kill()
        await asyncio.wait_for(waiting, LIMIT_S)


async def test_a_cancelled_request_holds_no_slot(tmp_path: Path) -> None:
    with ScriptedEndpoint(lambda request: hang() if request.number == 1 else '{"word": "yes"}') as endpoint:
        first, second = (build_llm(endpoint.settings("openai", parallel=1), tmp_path) for _ in range(2))
        held = asyncio.create_task(ask(first, THIS))
        await wait_for_requests(endpoint)
        waiting = asyncio.create_task(ask(second, THIS))
        await asyncio.sleep(0.05)
        for task in (waiting, held):
            task.cancel()
        await asyncio.gather(waiting, held, return_exceptions=True)
        await asyncio.wait_for(ask(first, THIS), LIMIT_S)
        await asyncio.wait_for(ask(second, THIS), LIMIT_S)


async def test_each_model_of_an_endpoint_has_its_own_limit(tmp_path: Path) -> None:
    with ScriptedEndpoint(lambda request: hang() if request.model == "large" else '{"word": "yes"}') as endpoint:
        large, small = (
            build_llm(endpoint.settings("openai", parallel=1, model=name), tmp_path) for name in ("large", "small")
        )
        held = asyncio.create_task(ask(large, THIS))
        await wait_for_requests(endpoint)
        await asyncio.wait_for(ask(small, THIS), LIMIT_S)
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)
