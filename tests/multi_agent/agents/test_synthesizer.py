"""The Synthesizer: claims on evidence, computations and findings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from multi_agent.agents.synthesizer import Synthesizer
from multi_agent.llm.settings import EndpointSettings
from multi_agent.settings.research import ResearchSettings
from multi_agent.values.context import Claim, Computation, Evidence, Finding, ResearchContext, Synthesis
from support.chunks import make_chunk
from support.kits import Bench, make_context, searched_for
from support.panel import CHECK, role_of, synthesis, verdicts
from support.replies import Request
from support.tables import Values, fields, table_context

Serve = Callable[..., EndpointSettings]
UNITS = fields(country="text", units="number")
ROWS: list[Values] = [{"country": f"Land {number}", "units": number} for number in range(1, 9)]


def counted(context: ResearchContext, *numbers: int, **fields: Any) -> Computation:
    """A computation over the evidence of these numbers."""
    given = {
        "number": 1, "purpose": "units in all", "sql": "SELECT sum(units)\n  AS units FROM records",
        "columns": ("units",), "rows": ((36,),), **fields,
    }  # fmt: skip
    return Computation(**given, evidence=tuple(context.evidence[number - 1] for number in numbers))


@pytest.fixture(autouse=True)
def three_records_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ResearchSettings, "records_shown", 3)


async def write(serve: Serve, context: ResearchContext, **answer: Any) -> tuple[Bench, Request]:
    """Return the Synthesizer's update for this response, and its prompt."""
    asked: list[Request] = []
    written = answer.get("claims", [])

    def respond(request: Request) -> str:
        asked.append(request)
        if role_of(request) == CHECK:
            return json.dumps(verdicts(*["stated"] * len(written)))
        return json.dumps({**synthesis(answer.pop("claims", []), sufficient=True), **answer})

    bench = Bench(Synthesizer, serve(respond))
    await bench.run(context)
    return bench, asked[0]


def answer_of(bench: Bench) -> Synthesis:
    assert bench.context.synthesis is not None
    return bench.context.synthesis


async def test_a_computation_is_shown_with_query_result_and_records(serve: Serve) -> None:
    context = table_context(UNITS, {"a.csv": ROWS[:3]})
    flawed = counted(context, 1, 2, 3, flaws=("record 4: units is 'few', no number",), truncated=True)
    _, request = await write(serve, context.model_copy(update={"computations": (flawed,)}))
    assert (
        "[C1] units in all\n"
        "    SQL: SELECT sum(units) AS units FROM records\n"
        "    Result:\n"
        "      units\n"
        "      36\n"
        "      (and more rows, which are not kept)\n"
        "    Made from the records at [1]-[3]\n"
        "    Left out, as they do not fit: record 4: units is 'few', no number\n"
    ) in request.prompt
    assert "The same as records" not in request.prompt


async def test_a_result_of_the_catalogue_says_how_many_rows_are_shown(serve: Serve) -> None:
    rows = tuple((f"folder/{number:04}.pdf, a rather long name of a document",) for number in range(100))
    computed = Computation(
        number=1, purpose="names", sql="SELECT name", columns=("name",), rows=rows, evidence=(), source="the catalogue"
    )  # fmt: skip
    context = table_context(UNITS, {"a.csv": ROWS[:3]}).model_copy(update={"computations": (computed,)})
    _, request = await write(serve, context)
    shown = request.prompt.count("folder/")
    assert 50 < shown < 100
    assert f"(these are the first {shown} rows, more are not shown)" in request.prompt


async def test_a_computation_supports_a_claim(serve: Serve) -> None:
    context = table_context(UNITS, {"a.csv": ROWS[:3]})
    context = context.model_copy(update={"computations": (counted(context, 1, 2, 3),)})
    claims = [
        {"text": "36 units in all.", "evidence": [], "computations": [1]},
        {"text": "Land 1 has one.", "evidence": [1], "computations": []},
        {"text": "Land 9 has none.", "evidence": [], "computations": []},
    ]
    bench, _ = await write(serve, context, claims=claims, short="36 units")
    answer = answer_of(bench)
    assert [claim.supported for claim in answer.claims] == [True, True, False]
    assert answer.text == "36 units in all. [C1] Land 1 has one. [1] Land 9 has none. [unsupported]"
    assert (answer.short, answer.computations) == ("36 units", context.computations)


async def test_a_number_of_no_quote_is_dropped(serve: Serve) -> None:
    context = table_context(UNITS, {"a.csv": ROWS[:3]})
    claims = [{"text": "Land 1 has one.", "evidence": [1, 7]}, {"text": "Land 9 has nine.", "evidence": [9]}]
    bench, _ = await write(serve, context, claims=claims)
    assert answer_of(bench).text == "Land 1 has one. [1] Land 9 has nine. [unsupported]"
    assert [each.quote for each in bench.of_type("evidence_rejected")] == ["[7]", "[9]"]


async def test_a_claim_that_was_checked_on_the_way_is_not_checked_again(serve: Serve) -> None:
    context = table_context(UNITS, {"a.csv": ROWS[:3]})
    own = context.evidence[2].model_copy(update={"number": 1})
    found = Synthesis(
        claims=(Claim(text="Its maker is the third country.", evidence=(1,), supported=True),), evidence=(own,),
        layout="prose", sufficient=True, confidence=0.9, reasoning="", looked_for=(), found="", missing=(),
    )  # fmt: skip
    finding = Finding(step="maker", question="Who makes it?", synthesis=found)
    claims = [{"text": "Its maker is the third country.", "evidence": [3]}]
    bench, _ = await write(serve, context.model_copy(update={"findings": (finding,)}), claims=claims)
    assert answer_of(bench).claims[0].supported
    assert not bench.of_type("claim_checked")


async def test_the_schema_is_the_same_for_any_evidence(serve: Serve) -> None:
    few, many = (table_context(UNITS, {"a.csv": ROWS[:size]}) for size in (2, 8))
    assert (await write(serve, few))[1].schema == (await write(serve, many))[1].schema


async def test_some_of_many_rows_of_a_computation_can_be_cited(serve: Serve) -> None:
    context = table_context(UNITS, {"a.csv": ROWS})
    note = make_chunk("The count is preliminary.", document="/docs/z.md")
    remark = Evidence(
        number=9, document=note.document, document_id=note.document_id, name=note.name, chunk_id=note.id,
        start=0, end=len(note.text), quote=note.text,
    )  # fmt: skip
    context = context.model_copy(
        update={
            "chunks": (*context.chunks, note),
            "evidence": (*context.evidence, remark),
            "computations": (counted(context, 7, 1, 2, 3, 4, 5, 6, 8),),
        }
    )
    bench, request = await write(serve, context, claims=[{"text": "36.", "evidence": [7, 9], "computations": [1]}])
    shown = [number for number in range(1, 10) if f"\n[{number}] " in request.prompt]
    assert shown == [1, 2, 7, 9]
    assert "(5 more rows went into the records and are not shown" in request.prompt
    assert "Made from the records at [1]-[8]" in request.prompt
    assert answer_of(bench).claims[0].evidence == (7, 9)
    assert answer_of(bench).evidence == context.evidence


async def test_a_computation_uses_the_current_evidence_numbers(serve: Serve) -> None:
    """Evidence added after the computation may have changed the numbers."""
    context = table_context(UNITS, {"a.csv": ROWS[:3]})
    early = counted(context, 1, 2)
    early = early.model_copy(
        update={"evidence": tuple(item.model_copy(update={"number": 9 - item.number}) for item in early.evidence)}
    )
    bench, request = await write(serve, context.model_copy(update={"computations": (early,)}))
    assert "Made from the records at [1]-[2]" in request.prompt
    assert [item.number for item in answer_of(bench).computations[0].evidence] == [1, 2]


async def test_without_computations_all_evidence_is_shown(serve: Serve) -> None:
    _, request = await write(serve, table_context(UNITS, {"a.csv": ROWS}))
    assert all(f"\n[{number}] a.csv, page 1: - Land {number}" in request.prompt for number in range(1, 9))
    assert '[8] {"country": "Land 8", "units": 8}' in request.prompt


async def test_quotes_that_do_not_fit_into_the_window_are_cut(serve: Serve) -> None:
    bench, prompt = await write_long(serve, characters=700, window=5000)
    assert all(f"\n[{number}] " in prompt for number in range(1, 25))
    assert " …" in prompt
    cut = "Did not fit into the model's context window: what 24 quotes say after 300 characters."
    assert (answer_of(bench).claims[0].stands, answer_of(bench).missing) == (True, (cut,))


async def test_quotes_that_do_not_even_fit_when_cut_are_left_out_of_all_documents(serve: Serve) -> None:
    bench, prompt = await write_long(serve, characters=700, window=2900)
    shown = [number for number in range(1, 25) if f"\n[{number}] " in prompt]
    assert shown == [*range(1, 9), *range(21, 25)], "half of the quotes, the first ones of each document"
    left_out = "Did not fit into the model's context window: 12 quotes of 24; what 12 quotes say after 150 characters."
    assert f"({left_out})" in prompt
    assert (answer_of(bench).claims[0].stands, answer_of(bench).missing) == (True, (left_out,))


async def write_long(serve: Serve, characters: int, window: int) -> tuple[Bench, str]:
    """Write an answer from 24 long quotes of two documents. Return the bench and the prompt."""
    far = "far away " * (characters // 9)
    rows: list[Values] = [{"country": f"Land {number} {far}", "units": number} for number in range(1, 25)]
    context = table_context(UNITS, {"a.csv": rows[:20], "b.csv": rows[20:]}).model_copy(update={"records": ()})
    asked: list[Request] = []

    def respond(request: Request) -> str:
        asked.append(request)
        return json.dumps(synthesis([{"text": "Land 24 has 24.", "evidence": [24]}], sufficient=True))

    bench = Bench(Synthesizer, serve(respond, context_window=window, max_output_tokens=500))
    await bench.run(context)
    return bench, asked[0].prompt


async def test_findings_are_shown_with_current_evidence_numbers(serve: Serve) -> None:
    context = table_context(UNITS, {"a.csv": ROWS[:3]})
    own = context.evidence[2].model_copy(update={"number": 1})
    found = Synthesis(
        claims=(
            Claim(text="Land 3 makes it.", evidence=(1,), supported=True), Claim(text="So I think.", supported=False)
        ),
        short="Land 3", evidence=(own,), layout="prose", sufficient=True, confidence=0.9, reasoning="",
        looked_for=(), found="", missing=(),
    )  # fmt: skip
    lost = found.model_copy(update={"sufficient": False, "missing": ("No owner is named.",)})
    findings = (
        Finding(step="maker", question="Who makes it?", synthesis=found),
        Finding(step="owner", question="Who owns that?", synthesis=lost),
    )
    _, request = await write(serve, context.model_copy(update={"findings": findings}))
    assert (
        "Answered on the way:\n"
        "- Who makes it? → Land 3\n"
        "    Land 3 makes it. [3]\n"
        "- Who owns that? → not found; closest: Land 3 (No owner is named.)\n"
    ) in request.prompt
    assert "So I think" not in request.prompt


async def test_the_answer_reports_what_was_searched_and_read(serve: Serve) -> None:
    chunk = make_chunk("Nothing of use.")
    context = make_context(
        "What is it?",
        chunks=(chunk,),
        ranking=(chunk.id,),
        searched=searched_for("What is it?", "its name"),
        queries=("planned",),
        scanned=("b.md",),
    )
    bench, request = await write(serve, context, sufficient=False, missing="its name")
    answer = answer_of(bench)
    assert (answer.looked_for, answer.found) == (("What is it?", "its name", "planned"), "Read 1 passage of a.md.")
    assert (answer.missing, answer.reasoning) == (("its name",), "What was read does not answer the question.")
    assert "Read completely: b.md" in request.prompt
    assert "There is none: no quote" in request.prompt


async def test_a_quote_is_shown_with_its_documents_title_and_its_own_section(serve: Serve) -> None:
    """A quote does not say what "it" means. Its passage may begin in another section."""
    chunk = make_chunk("It has three storeys.", document="/docs/0042.md", title="The Lee House", section=("Plan",))
    quote = Evidence(
        number=1, document=chunk.document, document_id=chunk.document_id, name=chunk.name, chunk_id=chunk.id, start=0,
        end=21, quote=chunk.text, section=("Height",),
    )  # fmt: skip
    _, request = await write(serve, make_context("How high is it?", chunks=(chunk,), evidence=(quote,)))
    assert "[1] 0042.md (The Lee House), Height: It has three storeys." in request.prompt
