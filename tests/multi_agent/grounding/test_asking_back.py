"""Candidates of a question asked back count only if the sentences that they cite name them."""

from __future__ import annotations

import pytest

from multi_agent.grounding.asking_back import CitedAskBack, CitedMeant, cited_names
from multi_agent.prompts.show_passages import number_units
from support.chunks import make_chunk

UNITS = number_units(
    [
        make_chunk("Langlade led another expedition in 1752. His men attacked Pickawillany.", document="/docs/war.md"),
        make_chunk("In 1752 he went to Montreal.", document="/docs/life.md"),
    ]
)


@pytest.mark.parametrize(
    ("name", "cited", "quoted"),
    [
        ("the expedition of 1752", [1], "Langlade led another expedition in 1752."),
        ("Pickawillany", [1, 2], "His men attacked Pickawillany."),
        ("the expedition to Pickawillany", [1, 2], "Langlade led another expedition in 1752."),
        ("the expedition to Pickawillany", [1], None),
        ("the expedition to Montreal", [1, 3], None),  # joined from two documents
        ("the expedition", [9], None),
    ],
)
def test_a_candidate_is_named_by_one_sentence_or_by_those_of_a_document(
    name: str, cited: list[int], quoted: str | None
) -> None:
    meant = CitedMeant(name=name, question=f"Who led {name}?", sentences=cited)
    found = cited_names(CitedAskBack(question="Which one?", candidates=[meant]), UNITS)
    assert [each.quote.quote for each in found] == ([quoted] if quoted else [])
