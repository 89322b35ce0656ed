"""A resumed run uses the memories and examples of its first try."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from multi_agent.llm.settings import EndpointSettings
from multi_agent.memory.memories import Memories
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.values.answer import Status
from multi_agent.values.request import Request
from support.database import make_engine
from support.panel import PLANNER, SYNTHESIS, Panel, role_of
from support.replies import Reply
from support.replies import Request as Asked
from vectorstore.embedding.embedder import Embedder

QUESTION = Request(question="Down to which temperature does the Borea 12 work?", session="monday")


async def test_the_planner_of_a_resumed_run_sees_the_same_memories(
    panel: Callable[..., Orchestrator], serve: Callable[..., EndpointSettings], tmp_path: Path, embedder: Embedder
) -> None:
    asked: Counter[str] = Counter()
    reached, may_end = threading.Event(), False

    def model(request: Asked) -> Reply | str:
        asked[role_of(request)] += 1
        if role_of(request) == SYNTHESIS and not may_end:
            reached.set()
            return Reply(hang=True)
        return Panel("-25 °C")(request)

    engine = make_engine(tmp_path / "memories.db")
    memories = Memories(engine, lambda text: embedder.embed_query(text)[0], embedder.model)
    orchestrator = replace(panel(serve(model)), memory=memories.for_key("ann"))
    interrupted = asyncio.create_task(orchestrator.research(QUESTION, run_id="run_1", pausing=lambda: True))
    assert await asyncio.to_thread(reached.wait, 60)
    interrupted.cancel()
    with pytest.raises(asyncio.CancelledError):
        await interrupted

    memories.add("preference", "Answer in German.", "ann")
    may_end = True
    answer = await orchestrator.research(QUESTION, run_id="run_1")
    assert answer.status is Status.ANSWERED
    assert asked[PLANNER] == 1, "its prompt was the same, so the journal had the answer"
    [exchange] = memories.conversation("ann", "monday", "mixed")
    assert exchange.question == QUESTION.question
