"""Processes that share a folder share an endpoint's bound on requests at once, take turns, and leave nothing behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from multi_agent.llm.factory import build_llm
from multi_agent.llm.llm import LLM, Message
from multi_agent.llm.settings import EndpointSettings
from support.scripted_endpoint import Request, ScriptedEndpoint, delayed, hang
from vectorstore.models import FrozenModel

HERE, ELSEWHERE = "asked here", "asked elsewhere"
_ASK = """
import asyncio, sys
from pathlib import Path
from multi_agent.llm.factory import build_llm
from multi_agent.llm.settings import EndpointSettings
from test_cross_process_limit import ELSEWHERE, ask
async def main():
    llm = build_llm(EndpointSettings.model_validate_json(sys.argv[1]), Path(sys.argv[2]))
    await asyncio.gather(*(ask(llm, ELSEWHERE) for _ in range(int(sys.argv[3]))))
asyncio.run(main())
"""


class Word(FrozenModel):
    """What the model answers."""

    word: str


async def ask(llm: LLM, text: str) -> None:
    await llm.complete([Message.user(text)], Word)


def elsewhere(settings: EndpointSettings, folder: Path, count: int) -> subprocess.Popen[bytes]:
    """Another process that makes so many requests at once."""
    given = settings.model_dump_json(exclude={"api_key"})
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", _ASK, given, str(folder), str(count)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": paths})


def whose(endpoint: ScriptedEndpoint) -> list[str]:
    """Where each request was made, in the order in which they came."""
    return [HERE if HERE in request.prompt else ELSEWHERE for request in endpoint.requests]


async def begun(endpoint: ScriptedEndpoint, count: int = 1) -> None:
    async with asyncio.timeout(60):
        while len(endpoint.requests) < count:  # noqa: ASYNC110 - what it waits for happens in the server's thread
            await asyncio.sleep(0.005)


def answer_in(seconds: float) -> Callable[[Request], object]:
    return lambda _: delayed('{"word": "yes"}', seconds)


async def test_all_processes_together_make_no_more_requests_at_once_than_is_set(tmp_path: Path) -> None:
    with ScriptedEndpoint(answer_in(0.2)) as endpoint:
        settings = endpoint.settings("openai", parallel=3)
        with elsewhere(settings, tmp_path, 9) as other:
            await begun(endpoint)
            llms = build_llm(settings, tmp_path), build_llm(settings, tmp_path)
            await asyncio.gather(*(ask(llm, HERE) for llm in llms for _ in range(5)))
    assert other.returncode == 0
    assert sorted(whose(endpoint)) == sorted([HERE] * 10 + [ELSEWHERE] * 9)
    assert endpoint.peak == 3


async def test_a_process_that_asks_much_does_not_keep_another_waiting_to_its_end(tmp_path: Path) -> None:
    with ScriptedEndpoint(answer_in(0.1)) as endpoint:
        settings = endpoint.settings("openai", parallel=1)
        with elsewhere(settings, tmp_path, 30):
            await begun(endpoint)
            await ask(build_llm(settings, tmp_path), HERE)
    assert HERE in whose(endpoint)[1:20]


async def test_a_process_that_is_killed_leaves_its_places_to_the_others(tmp_path: Path) -> None:
    def respond(request: Request) -> object:
        return hang() if ELSEWHERE in request.prompt else '{"word": "yes"}'

    with ScriptedEndpoint(respond) as endpoint:
        settings = endpoint.settings("openai", parallel=2)
        with elsewhere(settings, tmp_path, 3) as other:
            await begun(endpoint, 2)
            waiting = asyncio.create_task(ask(build_llm(settings, tmp_path), HERE))
            _, late = await asyncio.wait({waiting}, timeout=0.3)
            assert late == {waiting}, "both places are taken"
            other.kill()
        await asyncio.wait_for(waiting, 30)


async def test_who_waits_and_is_cancelled_holds_nothing(tmp_path: Path) -> None:
    with ScriptedEndpoint(lambda request: hang() if request.number == 1 else '{"word": "yes"}') as endpoint:
        first, second = (build_llm(endpoint.settings("openai", parallel=1), tmp_path) for _ in range(2))
        held = asyncio.create_task(ask(first, HERE))
        await begun(endpoint)
        waiting = asyncio.create_task(ask(second, HERE))
        await asyncio.sleep(0.05)
        for task in (waiting, held):
            task.cancel()
        await asyncio.gather(waiting, held, return_exceptions=True)
        await asyncio.wait_for(ask(first, HERE), 30)
        await asyncio.wait_for(ask(second, HERE), 30)


async def test_another_model_of_the_same_endpoint_has_a_bound_of_its_own(tmp_path: Path) -> None:
    with ScriptedEndpoint(lambda request: hang() if request.model == "large" else '{"word": "yes"}') as endpoint:
        large, small = (
            build_llm(endpoint.settings("openai", parallel=1, model=name), tmp_path) for name in ("large", "small")
        )
        held = asyncio.create_task(ask(large, HERE))
        await begun(endpoint)
        await asyncio.wait_for(ask(small, HERE), 30)
        held.cancel()
        await asyncio.gather(held, return_exceptions=True)
