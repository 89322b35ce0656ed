"""Runs whose process is killed after any commit of its database: in this process, or by SIGKILL in another one.

``python -m support.runs.killing FOLDER URL KIND COMMITS`` runs one kind in a process that kills itself.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, Never

from sqlalchemy import Engine, event, func, select

from base.database import METADATA
from multi_agent.library import Library
from multi_agent.llm.models import Models, build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.memory.memories import Memories
from multi_agent.memory.plans import PlanMemory
from multi_agent.model import LLM, Completion, LLMRequest, LLMWrapper, ResponseT, Usage
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.tools import ToolSettings
from multi_agent.storage.recording import last_try
from multi_agent.storage.tool_calls import ToolCalls
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.approvals import Approvals
from multi_agent.toolbox.toolbox import BUILT_IN, Toolbox, ToolRegistry
from multi_agent.values.answer import Answer
from multi_agent.values.events import Event, ModelAsked, StepFinished
from multi_agent.values.request import Fork, Request
from support.database import make_engine
from support.handyman import handyman
from support.pages import PagesHere
from support.panel import READING, Panel, role_of
from support.replies import Reply, held_until
from support.replies import Request as Asked
from support.runs.kinds import KINDS, TOOLS, Kind
from support.runs.small_collection import make_orchestrator, small_collection
from support.waiting import LIMIT_S
from vectorstore.embedding.embedder import Embedder, make_embedder
from vectorstore.settings import EmbeddingSettings
from vectorstore.store import Vectors

RUN = "run_1"
_ORIGIN = "run_0"
_NOT_COMPARED = ("events", "similarity_scales")
"""A resumed run has more events, and may have computed the scale of similarities, which is a cache."""


class Killed(BaseException):
    """The process of the run was killed."""


class Script:
    """The model of a run. It answers parallel Readers one after the other, so that every run ends in the same way."""

    def __init__(self, kind: Kind) -> None:
        self._parts = kind.parts
        self._respond = kind.model or Panel("-25 °C", "40 minutes", "Monday", roles=kind.roles)
        self._ended: dict[str, threading.Event] = defaultdict(threading.Event)

    def __call__(self, request: Asked) -> Reply | str:
        reply = self._respond(request)
        steps = [step for step, question in self._parts.items() if question in request.prompt]
        if role_of(request) != READING or not steps:
            return reply
        order = list(self._parts)
        before = order[: order.index(steps[0])]
        return held_until(self._ended[before[-1]], reply) if before else reply

    async def listen(self, event: Event) -> None:
        """Note the end of a step."""
        if isinstance(event.body, StepFinished):
            self._ended[event.step].set()


class CountingLLM(LLMWrapper):
    """Counts the calls of the model."""

    def __init__(self, inner: LLM) -> None:
        super().__init__(inner)
        self.calls = 0

    async def answer(self, request: LLMRequest[ResponseT]) -> Completion[ResponseT]:
        self.calls += 1
        return await self._inner.answer(request)


class Lifetime:
    """Counts the commits of a database, and calls ``die`` at the first statement after the last one."""

    def __init__(self, engine: Engine, last: int | None, die: Callable[[], Never]) -> None:
        self._engine, self._last, self._die = engine, last, die
        self.commits = 0
        event.listen(engine, "commit", self._count)
        event.listen(engine, "before_cursor_execute", self._check)

    @property
    def over(self) -> bool:
        return self._last is not None and self.commits >= self._last

    def stop(self) -> None:
        """Accept statements again."""
        event.remove(self._engine, "commit", self._count)
        event.remove(self._engine, "before_cursor_execute", self._check)

    def _count(self, _: object) -> None:
        self.commits += 1

    def _check(self, *_: object) -> None:
        if self.over:
            self._die()


def raise_killed() -> Never:
    """End the run within this process. Every later statement of its database fails, too."""
    raise Killed


class Try(NamedTuple):
    """A try of a run: whether it ended, its commits, its model calls, and how many were in flight at its end."""

    ended: bool
    commits: int
    calls: int
    in_flight: int


class End(NamedTuple):
    """What a run leaves behind, without times: its answer, the events of its last try, and the rows of all tables."""

    answer: Answer
    usage: Usage
    events: list[Event]
    rows: dict[str, int]


@dataclass(frozen=True)
class Home:
    """The database of a run, and what its tries share."""

    folder: Path
    library: Library
    embedder: Embedder
    model: LLM

    async def prepare(self, kind: Kind, script: Script) -> None:
        """Create the database. Run the origin of a fork."""
        engine = make_engine(self.database)
        if kind.fork:
            await self._research(engine, replace(kind, fork=""), script, _ORIGIN, self.model)
        engine.dispose()

    async def run(
        self, kind: Kind, script: Script, last: int | None = None, die: Callable[[], Never] = raise_killed
    ) -> Try:
        """Start or resume the run, with new parts, as a new process does. It dies after this number of commits."""
        engine = make_engine(self.database)
        trace, model = Trace(engine), CountingLLM(self.model)
        events, answered = len(trace.events(RUN)), _answered(trace)
        life = Lifetime(engine, last, die)
        try:
            await self._research(engine, kind, script, RUN, model)
        except BaseException:
            if not life.over:
                raise
        life.stop()
        asked = sum(isinstance(each.body, ModelAsked) for each in trace.events(RUN, after=events))
        in_flight = asked - (_answered(trace) - answered)
        ended = trace.run(RUN).ended
        engine.dispose()
        return Try(ended, life.commits, model.calls, in_flight)

    def end(self) -> End:
        """Return what the run has left behind."""
        engine = make_engine(self.database)
        trace = Trace(engine)
        answer = trace.answer(RUN)
        usage = answer.usage.model_copy(update={"seconds": 0.0})
        with engine.connect() as connection:
            rows = {
                table.name: connection.scalar(select(func.count()).select_from(table)) or 0
                for table in METADATA.sorted_tables
                if table.name not in _NOT_COMPARED
            }
        events = last_try(trace.events(RUN))
        engine.dispose()
        return End(answer.model_copy(update={"usage": usage}), usage, events, rows)

    @property
    def database(self) -> Path:
        return self.folder / "candor.db"

    async def _research(self, engine: Engine, kind: Kind, script: Script, run_id: str, model: LLM) -> None:
        await self._orchestrator(engine, kind, model).research(_request(kind), script.listen, run_id=run_id)

    def _orchestrator(self, engine: Engine, kind: Kind, model: LLM) -> Orchestrator:
        name = self.embedder.model

        def embed(text: str) -> Vectors:
            return self.embedder.embed_query(text)[0]

        registry, settings = ToolRegistry.discover((BUILT_IN,), ()), ToolSettings(timeout_s=LIMIT_S)
        tools = Toolbox(registry, settings, self.folder / "sandbox", Approvals(engine), ToolCalls(engine), PagesHere())
        plans = PlanMemory(engine, embed, name)
        made = make_orchestrator(Models(model), self.library, Trace(engine), plans, tools, **kind.settings)
        if kind.request.agent == "Handyman":
            made.registry.register(handyman(*TOOLS))
        return replace(made, memory=Memories(engine, embed, name).for_key("ann"))


def _answered(trace: Trace) -> int:
    """Return the number of model calls in the journal. Those that a fork has copied count as none."""
    return sum(entry.usage.model_calls for entry in trace.journal_entries(RUN))


def _request(kind: Kind) -> Request:
    return kind.request.model_copy(update={"fork": Fork(run_id=_ORIGIN, step=kind.fork) if kind.fork else None})


def main() -> None:
    """Run one kind and kill this process."""
    folder, url, name, last = sys.argv[1:]
    embedder = make_embedder(EmbeddingSettings(precision="float32"))
    model = build_llm(EndpointSettings(provider="openai", base_url=url, model="scripted", retries=0))
    kind = KINDS[name]
    with small_collection(Path(folder) / "collections", embedder) as library:
        home = Home(Path(folder), library, embedder, model)
        asyncio.run(home.run(kind, Script(kind), int(last), lambda: os.kill(os.getpid(), signal.SIGKILL)))


if __name__ == "__main__":
    main()
