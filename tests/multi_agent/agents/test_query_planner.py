"""The QueryPlanner: new wordings of the question, without known queries."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.agents.query_planner import QueryPlanner, QueryPlannerOutput, _new
from multi_agent.errors import AgentError
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.context import Finding, Synthesis
from support.kits import Bench, make_context, searched_for
from support.replies import Request, always

Serve = Callable[..., EndpointSettings]
MAKER = Finding(
    step="maker",
    question="Who makes the compressor?",
    synthesis=Synthesis(
        claims=(), short="Kestrel", evidence=(), layout="prose", sufficient=True, confidence=1, reasoning="",
        looked_for=(), found="Kestrel makes it.", missing=(),
    ),
)  # fmt: skip


def write(*queries: str) -> str:
    return json.dumps({"queries": queries, "reasoning": "They differ."})


async def test_later_steps_can_refer_to_its_queries(serve: Serve) -> None:
    update = await Bench(QueryPlanner, serve(always(write("a", "b", "c")))).run(make_context())
    assert QueryPlannerOutput.of(update).queries == update.queries == ("a", "b", "c")


async def test_a_revision_shows_earlier_searches_and_findings(serve: Serve) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return write("works of Kestrel", "Kestrel address", "Kestrel plant")

    context = make_context(
        searched=searched_for("What is it?", "compressor"), queries=("compressor", "unit"), findings=(MAKER,)
    )
    await Bench(QueryPlanner, serve(answer)).run(context, instruction="Find where the maker is.")
    prompt = asked[0].messages[1]["content"]
    assert "- Who makes the compressor? Kestrel" in prompt
    assert "write others:\n- What is it?\n- compressor\n- unit\n" in prompt
    assert prompt.endswith("Your task: Find where the maker is.")


async def test_the_first_prompt_has_no_earlier_searches(serve: Serve) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return write("a", "b", "c")

    await Bench(QueryPlanner, serve(answer)).run(make_context())
    assert "before" not in asked[0].messages[1]["content"]


async def test_known_queries_are_dropped(serve: Serve) -> None:
    planner = serve(always(write("Frost  limit", "cold start", "Cold start")))
    update = await Bench(QueryPlanner, planner).run(make_context(searched=searched_for("frost limit")))
    assert update.queries == ("cold start",)


async def test_only_known_queries_fail_the_step(serve: Serve) -> None:
    bench = Bench(QueryPlanner, serve(always(write("a", "b", "c"))))
    with pytest.raises(AgentError, match="find the same again"):
        await bench.run(make_context(searched=searched_for("a", "b"), queries=("C",)))


@given(st.lists(st.text("aAbB ", max_size=3)), st.lists(st.text("aAbB ", max_size=3)))
def test_queries_are_compared_without_case_and_space(queries: list[str], before: list[str]) -> None:
    def fold(query: str) -> str:
        return " ".join(query.casefold().split())

    new = _new(queries, before)
    positions = [queries.index(query) for query in new]
    assert positions == sorted(positions)
    assert len({fold(query) for query in new}) == len(new)
    assert {fold(query) for query in new} == {fold(query) for query in queries} - {fold(query) for query in before}
