"""The tool loop of an agent: it makes the calls that the model requests, and returns and records their results."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from multi_agent.llm.models import Models
from multi_agent.llm.wrappers.replay import ReplayingLLM
from multi_agent.orchestrator.orchestrator import Orchestrator
from multi_agent.settings.tools import ToolSettings
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox
from multi_agent.values.answer import Answer
from support.database import make_engine
from support.effects.effects import LOG, PACKAGE
from support.handyman import TASK, TURN, calls, handyman, report, rounds
from support.panel import role_of
from support.scripted_endpoint import ScriptedEndpoint

MakePanel = Callable[..., Orchestrator]
MakeTools = Callable[..., Toolbox]
SEARCH = ("search_documents", {"queries": ["cold weather"], "limit": 1})
QUOTE = "The Borea 12 works down to -25 °C."


@pytest.fixture
def ask(panel: MakePanel) -> Callable[..., Any]:
    """Return a function that asks the handyman with these tools: ``await ask(endpoint, "calculator", …)``."""

    async def research(endpoint: ScriptedEndpoint, *granted: str, **more: Any) -> Answer:
        asking = panel(endpoint.settings("openai"), **more)
        asking.registry.register(handyman(*granted))
        return await asking.research(TASK)

    return research


def bodies(trace: Trace, run_id: str, kind: str) -> list[Any]:
    return [event.body for event in trace.events(run_id) if event.body.type == kind]


async def test_tool_results_reach_the_model_and_the_events(
    ask: Callable[..., Any], trace: Trace, make_tools: MakeTools
) -> None:
    model = rounds(calls(("calculator", {"expression": "0.1 + 0.2"})), last=report("It is 0.3."))
    with ScriptedEndpoint(model) as endpoint:
        answer = await ask(endpoint, "calculator")
    assert "It is 0.3." in answer.answer
    shown = endpoint.requests[1].prompt.partition('--- calculator {"expression":"0.1 + 0.2"}\n')[2]
    assert shown.startswith('=== result of calculator {"expression": "0.1 + 0.2"} (from outside the documents;')
    assert "\n[1] 0.3\n" in shown

    [called], [returned] = bodies(trace, answer.run_id, "tool_called"), bodies(trace, answer.run_id, "tool_returned")
    assert (called.agent, called.tool, called.arguments) == ("Handyman", "calculator", {"expression": "0.1 + 0.2"})
    assert (returned.result, returned.error, returned.replayed) == ("0.3", "", False)
    assert (returned.key, returned.occurrence) == (called.key, called.occurrence)
    [entry] = make_tools().calls.entries(answer.run_id)
    assert (entry.tool, entry.why, entry.result.text) == ("calculator", "It helps.", "0.3")


async def test_an_agent_gets_only_its_granted_tools(ask: Callable[..., Any]) -> None:
    with ScriptedEndpoint(rounds(last=report("Nothing to do."))) as endpoint:
        await ask(endpoint, "calculator", "read_document")
    [turn] = [request for request in endpoint.requests if role_of(request) == TURN]
    assert "search_documents" not in turn.prompt
    assert "oneOf" not in str(turn.schema), "which fewer endpoints know than anyOf"
    offered = [kind["properties"]["tool"]["const"] for kind in turn.schema["$defs"].values() if "properties" in kind
               and "tool" in kind["properties"]]  # fmt: skip
    assert sorted(offered) == ["calculator", "read_document"]


async def test_sentences_of_tools_are_evidence(ask: Callable[..., Any], trace: Trace) -> None:
    model = rounds(calls(SEARCH), last=report("Down to -25 °C.", 2, 99))
    with ScriptedEndpoint(model) as endpoint:
        answer = await ask(endpoint, "search_documents")
    [quote] = answer.evidence
    assert (quote.quote, quote.pages, quote.document) == (QUOTE, (7,), "manual.pdf")
    [rejected] = bodies(trace, answer.run_id, "evidence_rejected")
    assert rejected.quote == "[99]"


async def test_sentences_keep_their_numbers_over_all_rounds(ask: Callable[..., Any]) -> None:
    again = calls(SEARCH, ("read_document", {"document": "recipe.md"}))
    model = rounds(calls(SEARCH), again, last=report("Both.", 4))
    with ScriptedEndpoint(model) as endpoint:
        answer = await ask(endpoint, "search_documents", "read_document")
    assert "=== manual.pdf, page 7\n[1] " in endpoint.requests[1].prompt
    assert "=== manual.pdf, page 7: see above" in endpoint.requests[2].prompt
    assert "=== recipe.md\n[4] Whisk the eggs." in endpoint.requests[2].prompt
    assert [quote.quote for quote in answer.evidence] == ["Whisk the eggs."]


async def test_the_model_reads_a_tool_error_and_can_recover(ask: Callable[..., Any], trace: Trace) -> None:
    wrong, right = ("read_document", {"document": "receipt.md"}), ("read_document", {"document": "recipe.md"})
    with ScriptedEndpoint(rounds(calls(wrong), calls(right), last=report("Eggs."))) as endpoint:
        answer = await ask(endpoint, "read_document")
    assert "There is no document 'receipt.md'. Did you mean 'recipe.md'" in endpoint.requests[1].prompt
    failed, gave = bodies(trace, answer.run_id, "tool_returned")
    assert (bool(failed.error), gave.error, gave.passages) == (True, "", 1)


async def test_the_model_learns_that_no_rounds_are_left(
    ask: Callable[..., Any], make_tools: MakeTools, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ToolSettings, "rounds", 2)
    endless = [calls(("calculator", {"expression": f"{number} + 1"})) for number in range(9)]
    with ScriptedEndpoint(rounds(*endless, last=report("Enough."))) as endpoint:
        await ask(endpoint, "calculator", tools=make_tools())
    assert [role_of(request) for request in endpoint.requests] == [TURN, TURN, "Report"]
    assert "Rounds of calls that are left: 1." in endpoint.requests[1].prompt
    assert "No more calls can be made." in endpoint.requests[2].prompt


async def test_an_unavailable_tool_is_listed_with_the_reason(ask: Callable[..., Any], make_tools: MakeTools) -> None:
    with ScriptedEndpoint(rounds(last=report("No."))) as endpoint:
        await ask(endpoint, "wish", "note", tools=make_tools(packages=(PACKAGE,)))
    prompt = endpoint.requests[0].prompt
    assert "- wish: No lamp is set (`tools.lamp`)." in prompt.partition("Not there:")[2]
    assert "Grants a wish" not in prompt


async def test_an_exception_in_a_tool_fails_only_its_call(ask: Callable[..., Any], make_tools: MakeTools) -> None:
    model = rounds(calls(("break", {"what": "it"}), ("note", {"what": "on"})), last=report("Half."))
    with ScriptedEndpoint(model) as endpoint:
        answer = await ask(endpoint, "break", "note", tools=make_tools(packages=(PACKAGE,)))
    assert "It failed: ZeroDivisionError: it" in endpoint.requests[1].prompt
    assert "on is number 1" in endpoint.requests[1].prompt
    assert "Half." in answer.answer


async def test_an_unknown_tool_fails_with_the_known_ones(ask: Callable[..., Any]) -> None:
    with ScriptedEndpoint(rounds(last=report("."))) as endpoint:
        answer = await ask(endpoint, "abacus")
    assert "The tool 'abacus' does not exist; there are calculator," in answer.reasoning


async def test_a_repeated_run_repeats_no_tool_call(
    ask: Callable[..., Any], panel: MakePanel, make_tools: MakeTools, trace: Trace, tmp_path: Path
) -> None:
    """As after a restart, model responses come from one journal and tool results from another."""
    tools = make_tools(packages=(PACKAGE,))
    same = ("note", {"what": "a"})
    with ScriptedEndpoint(rounds(calls(same, same), calls(same), last=report("Done."))) as endpoint:
        first = await ask(endpoint, "note", tools=tools)
        asked_before = len(endpoint.requests)
        live = panel(endpoint.settings("openai"), tools=tools)
        live.registry.register(handyman("note"))
        again = replace(
            live,
            models=Models(ReplayingLLM(trace.journal_entries(first.run_id), live.models.default.model)),
            trace=Trace(make_engine(tmp_path / "again.db")),
        )
        second = await again.research(TASK, run_id=first.run_id)
        assert len(endpoint.requests) == asked_before
    assert tools.sandbox(first.run_id).read(LOG).decode().split() == ["a", "a", "a"]
    assert second.answer == first.answer
    assert [body.replayed for body in bodies(again.trace, first.run_id, "tool_returned")] == [True, True, True]
