"""The planner's prompt shows less if the context window of its model is small, and the trace says what."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from api.settings import Settings
from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
from multi_agent.library import CatalogueEntry
from multi_agent.llm.models import build_llm
from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.planning.document_list import DocumentList
from multi_agent.orchestrator.planning.planner import Planner
from multi_agent.values.events import PromptShortened
from multi_agent.values.plan import Plan, PlanExample, Step
from multi_agent.values.request import Remembered
from support.replies import always
from support.scripted_endpoint import ScriptedEndpoint
from vectorstore.models import Chunk, Hit

QUESTION = "Who founded the company that built the pump of plant 3?"
STEPS = [
    {"id": "company", "agent": "Reader", "inputs": {"question": "Who built it?", "queries": []}},
    {"id": "answer", "agent": "Synthesizer", "instruction": "Answer the question."},
]
PLANNED = json.dumps({"intent": QUESTION, "requirements": ["a name"], "steps": STEPS})
ONE = Step(id="one", agents=("Reader",), instruction="")
EXAMPLE = PlanExample(name="founders", question="Who founded X?", plan=Plan(goal="X", mode="high", steps=(ONE,)))
NAMES = [f"reports/annual report of plant number {number}.pdf" for number in range(12)]


class Documents:
    """A library whose searches find the documents in their order."""

    def search(self, _: Sequence[str], limit: int) -> list[Hit]:
        return [Hit(chunk=_chunk(name), score=1.0) for name in NAMES[:limit]]


def _chunk(name: str) -> Chunk:
    return Chunk(id=name, document_id=name, document=name, name=name, version="1", index=0, text="A pump.", start=0,
                 end=7, title="", metadata={})  # fmt: skip


async def planned(window: int) -> tuple[str, tuple[str, ...]]:
    """Return the prompt for a model with this context window and default settings, and what it leaves out."""
    events: list[Any] = []

    async def publish(body: Any) -> None:
        events.append(body)

    settings = Settings(home=Path("home"), llm=EndpointSettings(context_window=window))
    catalogue: Any = [CatalogueEntry(id=name, name=name, chunks=3) for name in NAMES]
    library: Any = Documents()
    with ScriptedEndpoint(always(PLANNED)) as server:
        endpoint = server.settings("openai", context_window=window, max_output_tokens=settings.llm.max_output_tokens)
        planner = Planner(
            llm=build_llm(endpoint), registry=AgentRegistry.discover((BUILT_IN,)),
            documents=DocumentList(library, catalogue, QUESTION, 15), publish=publish, remembered=Remembered(),
            today="2026-11-30", sources="", change=lambda plan: plan, retries=0,
            tokens=settings.research.planner_tokens,
        )  # fmt: skip
        await planner.plan(QUESTION, [EXAMPLE])
        [request] = server.requests
    left_out = [each.left_out for each in events if isinstance(each, PromptShortened)]
    return "\n".join(each["content"] for each in request.messages), left_out[0] if left_out else ()


async def test_a_large_window_gets_everything() -> None:
    prompt, left_out = await planned(16_384)
    assert left_out == ()
    assert "Plans that worked" in prompt
    assert all(name in prompt for name in NAMES)
    assert "- ForEach" in prompt


async def test_the_window_of_4096_tokens_gets_what_fits() -> None:
    prompt, left_out = await planned(4_096)
    assert left_out[:2] == ("examples of plans", "all but 5 documents")
    assert {"agent Catalogue", "agent Mentions", "agent Structure"} <= set(left_out)
    assert "Plans that worked" not in prompt
    assert sum(name in prompt for name in NAMES) == 5
    for each in left_out[2:]:
        assert each.removeprefix("agent ") not in prompt, "no rule and no form names an agent that is left out"
    for agent in ("Reader", "Retriever", "Extractor", "Analyst", "Synthesizer", "QueryPlanner"):
        assert f"- {agent}" in prompt


@pytest.mark.parametrize("window", [2_048, 1_024])
async def test_a_window_that_is_too_small_is_named(window: int) -> None:
    with pytest.raises(Exception, match=r"exceed.*the context window of \d+ tokens"):
        await planned(window)
