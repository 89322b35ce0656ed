"""Several models in one run: who calls which, their trace, and validation before the run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from multi_agent.errors import UnknownAgent, UnknownModel
from multi_agent.llm.settings import EndpointSettings
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.research import Budget
from multi_agent.storage.trace import Trace
from multi_agent.values.answer import Status
from multi_agent.values.request import Request
from support.panel import Panel, role_of
from support.replies import Request as Asked

MakePanel = Callable[..., Orchestrator]
Serve = Callable[..., EndpointSettings]
QUESTION = "Down to which temperature does the Borea 12 work?"


class Endpoint:
    """A scripted panel that records the requested responses."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def __call__(self, request: Asked) -> str:
        self.asked.append(role_of(request))
        answered = Panel("-25 °C")(request)
        assert isinstance(answered, str)
        return answered


def models_by_caller(trace: Trace, run_id: str) -> dict[str, str]:
    return {event.body.caller: event.body.model for event in trace.events(run_id) if event.body.type == "model_called"}


async def test_an_agent_calls_its_own_endpoint(panel: MakePanel, serve: Serve, trace: Trace) -> None:
    large, small = Endpoint(), Endpoint()
    orchestrator = panel(
        serve(large, model="large-70b"),
        llms={"small": serve(small, "ollama", model="small-4b")},
        agent_models={"Extractor": "small", "Planner": "small"},
    )
    answer = await orchestrator.research(QUESTION)

    assert answer.status is Status.ANSWERED
    assert set(small.asked) == {"PlannerResponse", "Extraction"}
    assert "Extraction" not in large.asked
    assert "WrittenAnswer" in large.asked
    models = models_by_caller(trace, answer.run_id)
    assert (models["Planner"], models["Extractor"], models["Synthesizer"]) == ("small-4b", "small-4b", "large-70b")
    kept = {entry.caller: entry.model for entry in trace.journal_entries(answer.run_id)}
    assert kept == models


async def test_a_request_names_the_model_for_agents_without_their_own(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    orchestrator = panel(
        serve(Endpoint(), model="default"),
        llms={"large": serve(Endpoint(), model="large-70b"), "small": serve(Endpoint(), model="small-4b")},
        agent_models={"Extractor": "small"},
    )
    answer = await orchestrator.research(Request(question=QUESTION, model="large"))

    models = models_by_caller(trace, answer.run_id)
    assert models.pop("Extractor") == "small-4b"
    assert set(models.values()) == {"large-70b"}
    assert trace.run(answer.run_id).model == "large-70b"


async def test_one_model_at_two_endpoints_has_all_answers_in_the_journal(
    panel: MakePanel, serve: Serve, trace: Trace
) -> None:
    orchestrator = panel(serve(Endpoint()), llms={"twin": serve(Endpoint())}, agent_models={"Extractor": "twin"})
    answer = await orchestrator.research(QUESTION)
    entries = trace.journal_entries(answer.run_id)
    assert len(entries) == answer.usage.model_calls
    assert len({(entry.key, entry.occurrence) for entry in entries}) == len(entries)


async def test_the_budget_counts_the_calls_of_all_models(panel: MakePanel, serve: Serve) -> None:
    large, small = Endpoint(), Endpoint()
    orchestrator = panel(
        serve(large), llms={"small": serve(small)}, agent_models={"Planner": "small", "DataInspector": "small"}
    )
    answer = await orchestrator.research(Request(question=QUESTION, budget=Budget(model_calls=3)))
    assert answer.status is Status.INSUFFICIENT
    assert len(large.asked) + len(small.asked) == 3


async def test_a_prompt_must_fit_the_window_of_its_endpoint(panel: MakePanel, serve: Serve) -> None:
    narrow = Endpoint()
    orchestrator = panel(
        serve(Endpoint()),
        llms={"narrow": serve(narrow, context_window=600, max_output_tokens=500)},
        agent_models={"Synthesizer": "narrow"},
        max_revisions=0,
    )
    answer = await orchestrator.research(QUESTION)
    assert answer.status is Status.FAILED
    assert "CANDOR_LLM" in answer.reasoning
    assert narrow.asked == []


@pytest.mark.parametrize(
    ("research", "request_", "error", "said"),
    [
        (
            {"agent_models": {"Extractor": "big"}},
            {},
            UnknownModel,
            r"'big' \(needed by Extractor\)\. Known: small",
        ),
        ({"agent_models": {"Oracle": "small"}}, {}, UnknownAgent, "'Oracle' does not exist"),
        ({}, {"model": "big"}, UnknownModel, r"\[llms\.big\].*CANDOR_LLMS__BIG__MODEL"),
    ],
)
async def test_unknown_agents_and_models_are_rejected_before_the_run(
    panel: MakePanel,
    serve: Serve,
    trace: Trace,
    research: dict[str, object],
    request_: dict[str, str],
    error: type[Exception],
    said: str,
) -> None:
    endpoint = Endpoint()
    orchestrator = panel(serve(endpoint), llms={"small": serve(Endpoint())}, **research)
    with pytest.raises(error, match=said):
        await orchestrator.research(Request(question=QUESTION, **request_))
    assert (endpoint.asked, trace.runs()) == ([], [])


async def test_a_disabled_agent_may_keep_its_model(panel: MakePanel, serve: Serve) -> None:
    orchestrator = panel(
        serve(Endpoint()),
        llms={"small": serve(Endpoint())},
        agent_models={"Analyst": "small"},
        disabled_agents=("Analyst",),
    )
    assert (await orchestrator.research(QUESTION)).status is Status.ANSWERED
