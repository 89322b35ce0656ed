"""A run that is killed at any event and resumed ends like one that was not, and repeats only calls in flight."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from multi_agent.library import Library
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.rerun.difference import first_difference
from multi_agent.storage.trace import Trace
from support.database import make_engine
from support.replies import Reply, Request
from support.runs import killing
from support.runs.killing import RUN, End, Home, Script, Try
from support.runs.kinds import KINDS
from support.scripted_endpoint import ScriptedEndpoint
from vectorstore.embedding.embedder import Embedder

KILLED_AT = {"fast": 1, "planned": 1, "tools": 2, "parallel steps": 3, "fork": 3}
"""Kinds that are killed after every commit, every second or every third one. Each event is a commit."""
SOME_EVENTS = sorted(KINDS.keys() - {"nonsense", "server error"})  # a failed call is not in the journal


class Workshop:
    """Runs kinds in one event loop with one endpoint, and knows how each ends if nobody kills it."""

    def __init__(self, folder: Path, library: Library, embedder: Embedder) -> None:
        self._folder, self._library, self._embedder = folder, library, embedder
        self._undisturbed: dict[str, tuple[End, Try]] = {}
        self._prepared: dict[str, Path] = {}
        self._homes = 0
        self.endpoint: EndpointSettings
        self.script: Script

    def __call__(self, request: Request) -> Reply | str:
        """Answer as the script of the present run."""
        return self.script(request)

    def start(self, endpoint: EndpointSettings) -> None:
        self.endpoint, self._model = endpoint, build_llm(endpoint)

    async def open(self, name: str) -> Home:
        """Return a new home for a run of this kind."""
        self._homes += 1
        home = Home(self._folder / str(self._homes), self._library, self._embedder, self._model)
        home.folder.mkdir()
        self.script = Script(KINDS[name])
        if name not in self._prepared:
            await home.prepare(KINDS[name], self.script)
            self._prepared[name] = shutil.copy(home.database, self._folder / f"{name}.db")
        shutil.copy(self._prepared[name], home.database)
        return home

    async def run(self, home: Home, name: str, last: int | None = None) -> Try:
        """Start or resume a run. It dies after this number of commits."""
        return await home.run(KINDS[name], self.script, last)

    async def undisturbed(self, name: str) -> tuple[End, Try]:
        """Return the end of a run that nobody killed, and its only try."""
        if name not in self._undisturbed:
            home = await self.open(name)
            only = await self.run(home, name)
            self._undisturbed[name] = home.end(), only
        return self._undisturbed[name]

    async def kill(self, name: str, kills: Sequence[int]) -> None:
        """Kill a run after these numbers of commits, resume it after each, and check its end."""
        expected, only = await self.undisturbed(name)
        home = await self.open(name)
        tries: list[Try] = []
        for last in (*kills, None):
            tries.append(await self.run(home, name, last))
            if tries[-1].ended:
                break
        assert_same_end(home.end(), expected)
        repeated, in_flight = sum(each.calls for each in tries) - only.calls, sum(each.in_flight for each in tries)
        assert repeated <= in_flight, f"{repeated} calls were repeated, but {in_flight} were in flight"


@pytest.fixture(scope="module")
def loop() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory, library: Library, embedder: Embedder) -> Iterator[Workshop]:
    made = Workshop(tmp_path_factory.mktemp("killed"), library, embedder)
    with ScriptedEndpoint(made) as server:
        made.start(server.settings("openai", retries=0))
        yield made


def assert_same_end(end: End, expected: End) -> None:
    assert first_difference(expected.events, end.events) is None
    assert end.answer == expected.answer
    assert end.usage == expected.usage, "a call in flight costs nothing, any other one is counted once"
    assert end.rows == expected.rows


@pytest.mark.parametrize("name", KILLED_AT)
def test_a_run_killed_at_every_event_ends_the_same(loop: asyncio.Runner, workshop: Workshop, name: str) -> None:
    async def kill_at_each() -> None:
        _, only = await workshop.undisturbed(name)
        for last in range(1, only.commits, KILLED_AT[name]):
            await workshop.kill(name, [last])

    loop.run(kill_at_each())


@given(st.data())
@settings(max_examples=15)
def test_a_run_killed_several_times_ends_the_same(
    loop: asyncio.Runner, workshop: Workshop, data: st.DataObject
) -> None:
    name = data.draw(st.sampled_from(SOME_EVENTS), "kind")
    _, only = loop.run(workshop.undisturbed(name))
    kills = data.draw(st.lists(st.integers(1, only.commits - 1), min_size=1, max_size=3), "kills")
    loop.run(workshop.kill(name, kills))


def test_a_process_killed_by_the_system_leaves_the_same_behind(loop: asyncio.Runner, workshop: Workshop) -> None:
    """This shows that a run that is killed within the process of the test is killed in the same way."""

    async def compare() -> None:
        within, outside = await workshop.open("planned"), await workshop.open("planned")
        tried = await workshop.run(within, "planned", 25)
        assert not tried.ended
        root = Path(killing.__file__).parents[3]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), str(root / "tests")])}
        command = [sys.executable, "-m", killing.__name__, outside.folder, workshop.endpoint.base_url, "planned", "25"]
        killed = await asyncio.to_thread(subprocess.run, command, env=environment, check=False)
        assert killed.returncode == -9
        assert left_behind(outside) == left_behind(within)
        assert (await workshop.run(outside, "planned")).ended
        assert_same_end(outside.end(), (await workshop.undisturbed("planned"))[0])

    loop.run(compare())


def left_behind(home: Home) -> tuple[list[tuple[str, str]], list[tuple[str, int]]]:
    """Return the events and the journal of an unfinished run, without times."""
    trace = Trace(make_engine(home.database))
    events = [(event.step, event.body.type) for event in trace.events(RUN)]
    return events, [(entry.key, entry.occurrence) for entry in trace.journal_entries(RUN)]
