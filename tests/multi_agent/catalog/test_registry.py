"""Discovery of agents in packages. A new agent needs one file and one prompt."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest

from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
from multi_agent.errors import AgentError, UnknownAgent
from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from support.panel import PLANNER, SYNTHESIS, Panel, plan
from support.replies import Request

AGENT = """
    from typing import ClassVar

    from pydantic import BaseModel

    from multi_agent.agent import AgentCard, AgentKit
    from multi_agent.values.context import ContextUpdate, Note, ResearchContext
    from multi_agent.values.tasks import TaskData


    class Glossary(BaseModel):
        terms: list[str]


    class Lexicographer:
        card: ClassVar[AgentCard] = AgentCard(
            name="Lexicographer",
            description="Explains the technical terms of the passages.",
            capabilities=("explaining terms",),
            requires=frozenset({"chunks"}),
            writes=frozenset({"notes"}),
        )

        def __init__(self, kit: AgentKit) -> None:
            self._kit = kit

        async def should_activate(self, context: ResearchContext) -> bool:
            return bool(context.chunks)

        async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
            messages = self._kit.require_prompt().render(question=context.question, passages=len(context.chunks))
            terms = (await self._kit.llm.complete(messages, Glossary)).value.terms
            return ContextUpdate(notes=tuple(Note(agent="Lexicographer", text=term) for term in terms))

        def explain_reasoning(self) -> str:
            return "Terms were explained."
"""

LISTENER = """
    from typing import ClassVar

    from multi_agent.agent import AgentCard, AgentKit
    from multi_agent.values.context import ContextUpdate, Note, ResearchContext
    from multi_agent.values.tasks import TaskData


    class Witness:
        card: ClassVar[AgentCard] = AgentCard(
            name="Witness",
            description="Notes what the Retriever says.",
            reads=frozenset({"messages"}),
            writes=frozenset({"notes"}),
            listens_to=frozenset({"reasoning_shared"}),
        )

        def __init__(self, kit: AgentKit) -> None: ...

        async def should_activate(self, context: ResearchContext) -> bool:
            return context.messages[-1].sender == "Retriever"

        async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
            return ContextUpdate(notes=(Note(agent="Witness", text=f"heard: {context.messages[-1].content}"),))

        def explain_reasoning(self) -> str:
            return "The Retriever spoke."
"""

BROKEN = AGENT.replace("terms = (await", "raise ZeroDivisionError('no terms')\n            terms = (await")
INTRUDER = AGENT.replace("ContextUpdate(notes=tuple", "ContextUpdate(queries=('mine',), notes=tuple")
PLAN = plan(
    ("find", "Retriever"),
    ("terms", "Lexicographer"),
    ("extract", "Extractor"),
    ("answer", "Synthesizer"),
)


async def test_an_agent_of_a_package_is_planned_and_used(
    package: Callable[..., str],
    panel: Callable[..., Orchestrator],
    serve: Callable[..., EndpointSettings],
    trace: Trace,
) -> None:
    prompts: dict[str, str] = {}

    def remember(role: str) -> Callable[[Request], str]:
        def respond(request: Request) -> str:
            prompts[role] = request.prompt
            return json.dumps(PLAN if role == PLANNER else Panel().play(request))

        return respond

    def glossary(request: Request) -> str:
        prompts["Glossary"] = request.prompt
        return json.dumps({"terms": ["SCOP: seasonal efficiency"]})

    roles = {PLANNER: remember(PLANNER), "Glossary": glossary, SYNTHESIS: remember(SYNTHESIS)}
    orchestrator = panel(serve(Panel("-25 °C", roles=roles)), agent_packages=(package("lexicon", AGENT),))
    answer = await orchestrator.research("What is SCOP?")

    assert answer.status is Status.ANSWERED
    assert "- Lexicographer (explaining terms): Explains the technical terms of the passages. After" in prompts[PLANNER]
    assert "What is SCOP? (3 passages)" in prompts["Glossary"]
    assert "Lexicographer: SCOP: seasonal efficiency" in prompts[SYNTHESIS]
    explanations = [
        event.body.reasoning for event in trace.events(answer.run_id) if event.body.type == "reasoning_shared"
    ]
    assert "Terms were explained." in explanations


async def test_an_agent_reacts_to_the_events_it_listens_to(
    package: Callable[..., str],
    panel: Callable[..., Orchestrator],
    serve: Callable[..., EndpointSettings],
    trace: Trace,
) -> None:
    orchestrator = panel(serve(Panel("-25 °C")), agent_packages=(package("watching", LISTENER, None),))
    answer = await orchestrator.research("Down to which temperature?")
    events = trace.events(answer.run_id)
    wrote = [
        event.body.wrote for event in events if event.body.type == "step_finished" and event.body.agent == "Witness"
    ]
    [[note]] = [each["notes"] for each in wrote]
    assert note["text"].startswith("heard: Searched with 4 queries: 3 passages")
    assert answer.status is Status.ANSWERED


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        (BROKEN, "Step 'terms' (Lexicographer) failed: ZeroDivisionError: no terms"),
        (INTRUDER, "'Lexicographer' wrote ['queries'], but declares to write ['notes']"),
    ],
)
async def test_a_failing_agent_fails_the_run_with_its_error(
    package: Callable[..., str],
    panel: Callable[..., Orchestrator],
    serve: Callable[..., EndpointSettings],
    source: str,
    reason: str,
) -> None:
    name = f"failing_{len(reason)}"
    roles = {PLANNER: lambda _: json.dumps(PLAN), "Glossary": lambda _: json.dumps({"terms": ["x"]})}
    orchestrator = panel(serve(Panel("-25 °C", roles=roles)), agent_packages=(package(name, source),))
    answer = await orchestrator.research("What is SCOP?")
    assert answer.status is Status.FAILED
    assert reason in answer.reasoning


def test_two_agents_of_one_name_are_rejected(package: Callable[..., str]) -> None:
    twin = package("twins", AGENT.replace('name="Lexicographer"', 'name="Extractor"'))
    with pytest.raises(AgentError, match="Two agents are named 'Extractor'"):
        AgentRegistry.discover((BUILT_IN, twin))


def test_the_error_names_a_missing_package() -> None:
    with pytest.raises(AgentError, match=r"'no_such_package'.*agent_packages"):
        AgentRegistry.discover(("no_such_package",))


@pytest.mark.parametrize(
    "fault", ["raise RuntimeError('no licence')", "raise SystemExit(3)", "1 / 0", "import no_such_library", "def x(:"]
)
def test_the_error_names_a_package_that_fails(
    package: Callable[..., str], fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, in_module in enumerate((True, False)):
        name = package(f"failing_{number}", fault if in_module else AGENT)
        if not in_module:
            Path(str(find_spec(name).origin)).write_text(fault)  # type: ignore[union-attr]
        monkeypatch.delitem(sys.modules, name, raising=False)
        with pytest.raises(AgentError, match=rf"'{name}' cannot be imported \(.+\). Check .*agent_packages"):
            AgentRegistry.discover((name,))


def test_the_error_for_an_unknown_agent_lists_the_known_ones() -> None:
    with pytest.raises(UnknownAgent, match="'Oracle' does not exist; there are Analyst, Catalogue, DataInspector"):
        AgentRegistry.discover().get("Oracle")


def test_agents_without_a_model_and_those_that_read_rows_have_no_prompt() -> None:
    without = [agent.card.name for agent in AgentRegistry.discover() if agent.prompt is None]
    assert without == ["Catalogue", "ForEach", "Mentions", "Retriever", "Structure"]


def test_a_prompt_rejects_missing_and_unknown_values() -> None:
    prompt = AgentRegistry.discover().get("QueryPlanner").prompt
    assert prompt is not None
    with pytest.raises(AgentError, match=r"missing values: \['instruction', .*unknown values: \['colour'\]"):
        prompt.render(question="q", colour="red")
