"""The FindingsAnalyst: agreements, conflicts and gaps over what earlier steps found."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from multi_agent.agents.findings_analyst import FindingsAnalyst, FindingsAnalystOutput
from multi_agent.llm.settings import EndpointSettings
from multi_agent.values.context import Evidence, Finding, ResearchContext, Synthesis
from support.chunks import make_chunk
from support.kits import Bench, make_context
from support.panel import CHECK, role_of, verdicts
from support.replies import Request
from vectorstore.models import Origin, ToolOutput, WebPage

Serve = Callable[..., EndpointSettings]
WEB = WebPage(url="https://example.org/borea", read_at="2026-01-02T03:04:05Z")
TOOL = ToolOutput(tool="shop.weigh", arguments={"pump": "Borea 12"})
TEXTS: dict[str, tuple[str, Origin | None]] = {
    "a.md": ("The Borea 12 weighs 14 kg.", None),
    "example.org": ("The Borea 12 weighs 16 kg.", WEB),
    "shop.weigh": ("The Borea 12 weighs 14 kg in the shop.", TOOL),
}


def found() -> ResearchContext:
    """What a document, a web page and a tool say, each the finding of a step of its own."""
    chunks = [make_chunk(text, document=f"/docs/{name}", origin=origin) for name, (text, origin) in TEXTS.items()]
    evidence = tuple(
        Evidence(
            number=number, document=chunk.document, document_id=chunk.document_id, chunk_id=chunk.id, name=chunk.name,
            start=0, end=len(chunk.text), quote=chunk.text, origin=chunk.origin,
        )
        for number, chunk in enumerate(chunks, start=1)
    )  # fmt: skip
    findings = (_finding(f"step_{item.number}", item) for item in evidence)
    return make_context("What does it weigh?", chunks=tuple(chunks), evidence=evidence, findings=tuple(findings))


def _finding(step: str, item: Evidence) -> Finding:
    synthesis = Synthesis(
        claims=(), short=item.quote, evidence=(item,), layout="prose", sufficient=True, confidence=1.0, reasoning="",
        looked_for=(), found="", missing=(),
    )  # fmt: skip
    return Finding(step=step, question="What does it weigh?", synthesis=synthesis)


def point(kind: str, one: list[int], other: list[int], text: str) -> dict[str, Any]:
    return {"kind": kind, "one": one, "other": other, "text": text}


CONFLICT = point("conflict", [1], [2], "The Borea 12 weighs 14 kg by a.md and 16 kg by example.org.")
AGREEMENT = point("agreement", [1], [3], "The Borea 12 weighs 14 kg.")
GAP = point("gap", [], [], "What the Borea 12 weighs with oil.")


async def analyse(serve: Serve, *points: dict[str, Any], **inputs: Any) -> tuple[Bench, Request]:
    asked: list[Request] = []

    def respond(request: Request) -> str:
        asked.append(request)
        if role_of(request) == CHECK:
            return json.dumps(verdicts(*["stated"] * 9))
        return json.dumps({"points": points})

    bench = Bench(FindingsAnalyst, serve(respond))
    await bench.run(found(), {"focus": "Its weight", **inputs})
    return bench, asked[0]


async def test_a_conflict_between_a_document_and_the_web_has_quotes_of_both(serve: Serve) -> None:
    bench, request = await analyse(serve, CONFLICT, AGREEMENT, GAP)
    assert "[1] a.md" in request.prompt
    assert "Its weight" in request.prompt
    analysis = bench.context.findings[-1].synthesis
    assert [(claim.text.partition(":")[0], claim.evidence) for claim in analysis.claims] == [
        ("Conflict", (1, 2)),
        ("Agreement", (1, 3)),
    ]
    assert all(claim.stands for claim in analysis.claims)
    assert analysis.short == "1 agreement, 0 differences, 1 conflict, 1 gap"
    assert analysis.missing == (GAP["text"],)
    [contradiction] = bench.of_type("contradiction_found")
    assert contradiction.sides == (f"“{TEXTS['a.md'][0]}” (a.md)", f"“{TEXTS['example.org'][0]}” (example.org)")
    assert bench.context.notes[0].text == f"Gap: {GAP['text']}"


async def test_a_point_without_quotes_of_its_own_on_both_sides_is_dropped(serve: Serve) -> None:
    same, unknown = {**CONFLICT, "other": [1, 2]}, {**CONFLICT, "other": [9]}
    bench, _ = await analyse(serve, same, unknown)
    assert bench.context.findings[-1].synthesis.claims == ()
    assert len(bench.of_type("evidence_rejected")) == 2
    assert not bench.of_type("contradiction_found")


async def test_a_difference_is_no_conflict(serve: Serve) -> None:
    bench, request = await analyse(serve, {**CONFLICT, "kind": "difference"})
    analysis = bench.context.findings[-1].synthesis
    assert [claim.text.partition(":")[0] for claim in analysis.claims] == ["Difference"]
    assert analysis.short == "0 agreements, 1 difference, 0 conflicts, 0 gaps"
    assert not bench.of_type("contradiction_found")
    assert "`difference`" in request.prompt


async def test_a_figure_that_no_quote_has_is_dropped(serve: Serve) -> None:
    bench, _ = await analyse(serve, {**AGREEMENT, "text": "The Borea 12 weighs 99 kg."})
    assert bench.context.findings[-1].synthesis.claims == ()


async def test_only_the_named_steps_and_types_are_analysed(serve: Serve) -> None:
    inputs = {"sources": ["step_1", "step_3"], "analysis_types": ["agreements"]}
    bench, request = await analyse(serve, AGREEMENT, GAP, **inputs)
    assert bench.context.findings[-1].synthesis.missing == (), "gaps were not asked for"
    assert "16 kg" not in request.prompt
    assert "first: `agreement`." in request.prompt
    assert "`gap`" not in request.prompt


async def test_all_quotes_are_compared_if_a_step_gave_no_answer(serve: Serve) -> None:
    bench, request = await analyse(serve, CONFLICT, sources=["step_1", "step_9"])
    assert "16 kg" in request.prompt, "the quotes of step_2"
    assert "Compared all quotes, because no answer is from step_9." in bench.reasoning


async def test_conflicts_and_gaps_are_outputs_for_later_steps(serve: Serve) -> None:
    bench, _ = await analyse(serve, CONFLICT, GAP)
    update = bench.context.only({"findings"})
    output = FindingsAnalystOutput.of(update)  # type: ignore[arg-type] - it has the same fields
    assert (output.conflicts, output.gaps) == ([f"Conflict: {CONFLICT['text']}"], [GAP["text"]])
