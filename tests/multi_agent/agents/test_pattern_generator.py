"""DataInspector and PatternGenerator: the same sample, and valid record fields."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from math import inf

import pytest
from hypothesis import given
from hypothesis import strategies as st

from base.tokens import estimate_tokens
from multi_agent.agents.data_inspector import DataInspector
from multi_agent.agents.pattern_generator import PatternGenerator, PatternGeneratorOutput
from multi_agent.errors import InvalidResponse
from multi_agent.llm.settings import EndpointSettings
from multi_agent.prompts.show_passages import LEFT_OUT, sample_passages, unread_passages
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.context import Inspection
from support.chunks import make_chunk
from support.kits import Bench, make_context
from support.replies import Request, always

Serve = Callable[..., EndpointSettings]
CHUNKS = tuple(make_chunk(f"Passage number {index}.", index=index) for index in range(9))
INSPECTION = Inspection(format="rows", structure="one a line")
LOOKED = {"format": "rows", "structure": "lines", "quality_problems": [], "missing": [], "reasoning": "Plain."}


def patterns(*fields: str) -> str:
    named = [{"name": name, "type": "number", "meaning": "m"} for name in fields]
    strategy = {"description": "d", "take": "t", "leave_out": "", "examples": []}
    return json.dumps({"strategies": [strategy], "record_fields": named, "reasoning": "They suit."})


async def test_later_steps_can_refer_to_the_field_names(serve: Serve) -> None:
    bench = Bench(PatternGenerator, serve(always(patterns("units", "year"))))
    update = await bench.run(make_context(chunks=CHUNKS, inspection=INSPECTION))
    assert PatternGeneratorOutput.of(update).fields == ("units", "year")


async def test_two_fields_of_one_name_are_rejected(serve: Serve) -> None:
    asked: list[Request] = []

    def answer(request: Request) -> str:
        asked.append(request)
        return patterns("units", "units") if len(asked) == 1 else patterns("units", "year")

    bench = Bench(PatternGenerator, serve(answer))
    update = await bench.run(make_context(chunks=CHUNKS, inspection=INSPECTION))
    assert [field.name for field in update.record_fields] == ["units", "year"]
    assert "used twice: units" in asked[1].prompt
    with pytest.raises(InvalidResponse):
        await Bench(PatternGenerator, serve(always(patterns("x", "x")))).run(bench.context)


async def test_both_agents_see_the_same_unread_passages(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResearchSettings, "sample_passages", 2)
    shown: list[list[str]] = []

    def answer(request: Request) -> str:
        shown.append(
            [line for line in request.messages[1]["content"].splitlines() if line.startswith("Passage number")]
        )
        return json.dumps(LOOKED) if request.schema["title"] == "InspectionResponse" else patterns()

    context = make_context(
        chunks=CHUNKS,
        inspection=INSPECTION,
        ranking=tuple(CHUNKS[index].id for index in (8, 0, 5, 3)),
        read=(f"{CHUNKS[8].id}/abc",),
    )
    for agent in (DataInspector, PatternGenerator):
        await Bench(agent, serve(answer)).run(context)
    assert shown == [["Passage number 0.", "Passage number 5."]] * 2


indexes = st.lists(st.integers(0, 8), unique=True)


@given(indexes, st.integers(1, 10))
def test_a_sample_has_the_best_passages_then_others(ranked: Sequence[int], most: int) -> None:
    ranking = [CHUNKS[index].id for index in ranked]
    chosen = sample_passages(CHUNKS, ranking, most, inf)
    assert len({chunk.id for chunk in chosen}) == len(chosen) == min(most, len(CHUNKS))
    assert chosen == tuple(chunk for chunk in CHUNKS if chunk in chosen)
    assert {chunk.id for chunk in chosen}.issuperset(ranking[:most])


def test_a_sample_without_a_ranking_is_spread_evenly() -> None:
    assert [chunk.index for chunk in sample_passages(CHUNKS, (), 3, inf)] == [0, 4, 8]
    assert [chunk.index for chunk in sample_passages(CHUNKS, (), 1, inf)] == [0]


def test_a_sample_fits_into_a_call() -> None:
    size = estimate_tokens(CHUNKS[0].text)
    assert [chunk.index for chunk in sample_passages(CHUNKS, [CHUNKS[3].id], 9, 2 * size)] == [0, 3]
    [chunk] = sample_passages(CHUNKS, [CHUNKS[3].id], 9, size - 1)
    assert (chunk.text, LEFT_OUT in chunk.metadata) == ("Passage number ", True)


def test_when_all_passages_were_read_all_are_sampled() -> None:
    read = [f"{chunk.id}/any" for chunk in CHUNKS]
    assert unread_passages(CHUNKS, read) == CHUNKS
    assert unread_passages(CHUNKS, read[1:]) == CHUNKS[:1]
