"""Tests of the numbers of citations: the first quote that an answer mentions is [1]."""

from __future__ import annotations

from multi_agent.grounding.reading_order import in_reading_order
from multi_agent.values.context import Claim, Computation, Evidence, Synthesis


def evidence(number: int, document: str = "a.md") -> Evidence:
    return Evidence(
        number=number, document=f"/docs/{document}", document_id=document, name=document, chunk_id="c", start=number,
        end=number + 1, quote=f"quote {number}",
    )  # fmt: skip


def written(*claims: Claim, computations: tuple[Computation, ...] = ()) -> Synthesis:
    return Synthesis(
        claims=claims, evidence=tuple(evidence(number) for number in range(1, 6)), computations=computations,
        layout="prose", sufficient=True, confidence=0.5, reasoning="", looked_for=(), found="", missing=(),
    )  # fmt: skip


def test_evidence_is_numbered_as_the_claims_mention_it() -> None:
    first = Claim(text="A.", evidence=(4,), supported=True)
    second = Claim(text="B.", evidence=(2, 4), computations=(1,), supported=True)
    shown = in_reading_order(written(first, second))
    assert shown.text == "A. [1] B. [1][2][C1]"
    assert [(item.number, item.quote) for item in shown.evidence] == [
        (1, "quote 4"), (2, "quote 2"), (3, "quote 1"), (4, "quote 3"), (5, "quote 5")
    ]  # fmt: skip


def test_unsupported_claims_show_no_marks_so_their_quotes_come_later() -> None:
    doubted = Claim(text="A.", evidence=(1,), supported=False)
    shown = in_reading_order(written(doubted, Claim(text="B.", evidence=(3,), supported=True)))
    assert shown.text == "A. [unsupported] B. [1]"
    assert shown.claims[0].evidence == (2,)


def test_the_quotes_of_a_computation_have_the_numbers_of_the_answer() -> None:
    computed = Computation(
        purpose="count", sql="SELECT 1", columns=("n",), rows=((2,),), evidence=(evidence(1), evidence(5))
    )
    claim = Claim(text="Two. ", evidence=(5,), computations=(1,), supported=True)
    shown = in_reading_order(written(claim, computations=(computed,)))
    assert [(item.number, item.quote) for item in shown.computations[0].evidence] == [(1, "quote 5"), (2, "quote 1")]
