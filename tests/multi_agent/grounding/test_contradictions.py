"""Possible contradictions are found by comparing words and values."""

from __future__ import annotations

import pytest

from multi_agent.grounding.contradictions import find_contradictions
from multi_agent.values.context import Evidence, Finding, Synthesis
from support.kits import make_context
from vectorstore.models import Chunk


def quote(text: str, name: str = "a.md", start: int = 0) -> Evidence:
    return Evidence(
        number=1, document=f"/{name}", document_id=name, name=name, chunk_id=name, start=start,
        end=start + len(text), quote=text,
    )  # fmt: skip


def finding(question: str, short: str, *evidence: Evidence, sufficient: bool = True) -> Finding:
    synthesis = Synthesis(
        claims=(), short=short, evidence=evidence, layout="prose", sufficient=sufficient, confidence=1.0, reasoning="",
        looked_for=(), found="", missing=(),
    )  # fmt: skip
    return Finding(step="s", question=question, synthesis=synthesis)


def test_two_sentences_of_two_documents_with_another_figure() -> None:
    evidence = (
        quote("The warranty of the Borea 12 lasts 24 months."),
        quote("The warranty of the Borea 12 lasts 36 months.", "b.md"),
    )
    assert find_contradictions(make_context(evidence=evidence)) == (
        (
            "“The warranty of the Borea 12 lasts 24 months.” (a.md)",
            "“The warranty of the Borea 12 lasts 36 months.” (b.md)",
        ),
    )


@pytest.mark.parametrize(
    ("one", "other", "name"),
    [
        ("The warranty lasts 24 months.", "The warranty lasts 24 months.", "b.md"),
        ("The warranty lasts 24 months.", "The warranty lasts 36 months.", "a.md"),
        ("The warranty lasts 24 months.", "The guarantee lasts 36 months.", "b.md"),
        ("Revenue in 2023 was 5 million dollars.", "Revenue in 2024 was 6 million dollars.", "b.md"),
        ("| Graz | 12 |", "| Graz | 13 |", "b.md"),
    ],
)
def test_other_quotes_do_not_contradict_each_other(one: str, other: str, name: str) -> None:
    assert not find_contradictions(make_context(evidence=(quote(one), quote(other, name, start=500))))


def rows(name: str, *figures: str, head: str = "| Item | Price | Delivery |") -> Chunk:
    lines = [head, "| --- | --- | --- |", *(f"| Pump P{at} | {each} | 3 weeks |" for at, each in enumerate(figures, 7))]
    text = "\n".join(lines)
    place = {"start": 0, "end": len(text), "index": 0}
    return Chunk(id=name, document_id=name, document=f"/{name}", name=name, version="", text=text, **place)


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        (rows("b.xlsx", "1350", "90"), ["“| Pump P7 | 1350 | 3 weeks |” (b.xlsx)"]),
        (rows("b.xlsx", "1200", "1350"), []),
        (rows("b.xlsx", "1350", head="| Item | Weight | Delivery |"), []),
    ],
    ids=["other price", "another row", "another column"],
)
def test_a_row_of_another_document_has_another_cell(other: Chunk, expected: list[str]) -> None:
    row = "| Pump P7 | 1200 | 3 weeks |"
    context = make_context(evidence=(quote(row, "a.xlsx"),), chunks=(rows("a.xlsx", "1200", "90"), other))
    assert [found.second for found in find_contradictions(context)] == expected


def test_two_answers_to_one_question_with_other_values() -> None:
    findings = (
        finding("How long is the warranty?", "24 months", quote("24 months", "a.md")),
        finding("how long is the warranty", "36 months", quote("36 months", "b.md")),
    )
    assert find_contradictions(make_context(findings=findings)) == (
        (
            "“24 months” as answer to “How long is the warranty?” (a.md)",
            "“36 months” as answer to “how long is the warranty” (b.md)",
        ),
    )


@pytest.mark.parametrize(
    ("short", "sufficient"), [("24 months", True), ("three years", True), ("36 months", False), ("", True)]
)
def test_answers_that_can_mean_the_same_do_not(short: str, sufficient: bool) -> None:
    findings = (finding("How long?", "24 months"), finding("How long?", short, sufficient=sufficient))
    assert not find_contradictions(make_context(findings=findings))
