"""The conversations of benchmarks/conversations.jsonl, and what counts as right."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.conversations import KINDS, Conversation, is_right, load_conversations
from multi_agent.values.answer import Answer
from multi_agent.values.context import AnswerPart, Candidate, Claim, Clarification

PARTS = ({"part": "guests", "answer": ["2000"]}, {"part": "rent", "answer": None})
ANSWERED = AnswerPart(part="guests", verdict="answered")
NOT_FOUND = AnswerPart(part="rent", verdict="not_found")
GUESTS = Claim(text="2000 guests", evidence=(1,), supported=True)
ASKED = Clarification(
    question="Which city?",
    candidates=tuple(
        Candidate(name=name, question=f"How many people live in {name}?", document="a.md", quote=name)
        for name in ("Warsaw", "Jacksonville")
    ),
)


def test_the_set_has_sixty_conversations_of_two_or_three_turns() -> None:
    loaded = {kind: load_conversations(kind) for kind in KINDS}
    assert [len(each) for each in loaded.values()] == [25, 15, 10, 10]
    everything = [each for group in loaded.values() for each in group]
    assert len({each.id for each in everything}) == len({each.turns for each in everything}) == 60
    assert all(2 <= len(each.turns) <= 3 and each.source for each in everything)
    assert all(2 <= len(each.expected) <= 5 for each in loaded["unclear"])
    assert all(not each.expected for each in loaded["unanswerable"])
    assert all({"part", "answer"} == set(part) for each in loaded["parts"] for part in each.expected)


@pytest.mark.parametrize(
    ("kind", "expected", "said", "right"),
    [
        ("answerable", ("13%",), {"status": "answered", "short": "about 13% of it"}, True),
        ("answerable", ("Jean Ribault",), {"status": "answered", "short": "captain Jean François Ribault"}, True),
        ("answerable", ("13%",), {"status": "answered", "short": "10%"}, False),
        ("answerable", ("13%",), {"status": "insufficient", "short": "13%"}, False),
        ("unanswerable", (), {"status": "insufficient"}, True),
        ("unanswerable", (), {"status": "needs_clarification", "clarification": ASKED}, False),
        ("unclear", ("Warsaw", "Fresno"), {"status": "needs_clarification", "clarification": ASKED}, True),
        ("unclear", ("Rhine", "Tyne"), {"status": "needs_clarification", "clarification": ASKED}, False),
        ("unclear", ("Warsaw", "Fresno"), {"status": "insufficient"}, False),
        ("parts", PARTS, {"status": "partial", "short": "2000", "parts": (ANSWERED, NOT_FOUND)}, True),
        ("parts", PARTS, {"status": "partial", "short": "1500", "parts": (ANSWERED, NOT_FOUND)}, False),
        ("parts", PARTS, {"status": "answered", "short": "2000"}, False),
        ("parts", PARTS[:1], {"status": "answered", "claims": (GUESTS,)}, True),
    ],
)  # fmt: skip
def test_right_depends_on_the_kind(kind: str, expected: tuple[Any, ...], said: dict[str, Any], right: bool) -> None:
    conversation = Conversation(id="c", kind=kind, turns=("A?", "B?"), expected=expected, source=())
    answer = Answer.model_validate({"run_id": "run_1", "mode": "fast", "question": "B?", **said})
    assert is_right(conversation, answer) is right
