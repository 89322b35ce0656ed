"""Storing memories, finding those for a question, and showing them to the planner."""

from __future__ import annotations

from pathlib import Path

import pytest

from multi_agent.answer import Answer, Status
from multi_agent.errors import AgentError, NotKept
from multi_agent.memory.memories import EXCHANGES, PREFERENCES, Memories
from multi_agent.prompts.show_remembered import show_remembered
from multi_agent.remembered import Remembered
from multi_agent.request import Request
from support.database import make_engine
from vectorstore.embedding.embedder import Embedder

FROST = "Operating temperatures stand in the data sheets, not in the brochures."
RANKING = "For rankings by turnover, scan the annual reports: the table is on page 3."


@pytest.fixture
def memories(tmp_path: Path, embedder: Embedder) -> Memories:
    return Memories(make_engine(tmp_path / "m.db"), embedder.embed_query, embedder.model)


def ended(run_id: str, status: Status = Status.ANSWERED, **more: str) -> Answer:
    return Answer(run_id=run_id, status=status, mode="high", question="q", **more)  # type: ignore[arg-type]


def test_preferences_belong_to_one_key(memories: Memories) -> None:
    german = memories.add("preference", " Answer in German. ", "ann")
    memories.add("preference", "Be brief.", "bob")
    assert memories.for_key("ann").recall(Request(question="q")).preferences == ("Answer in German.",)
    assert [entry.text for entry in memories.entries("bob")] == ["Be brief."]
    for attempt in (memories.get, memories.delete, lambda its, key: memories.edit(its, "Mine now.", key)):
        with pytest.raises(NotKept, match=f"There is no memory '{german.id}'"):
            attempt(german.id, "bob")
    memories.edit(german.id, "Answer in Dutch.", "ann")
    assert memories.get(german.id, "ann").text == "Answer in Dutch."
    memories.delete(german.id, "ann")
    assert memories.entries("ann") == ()


def test_how_to_notes_are_shared_and_found_by_similarity(memories: Memories) -> None:
    memories.add("how_to", FROST, "ann")
    memories.add("how_to", RANKING, "ann")
    own = memories.for_key("bob")
    assert own.recall(Request(question="Down to which temperature does the Borea 12 work?")).how_to == (FROST,)
    assert own.recall(Request(question="Which companies had the largest turnover?")).how_to == (RANKING,)
    assert own.recall(Request(question="Who won the marathon in 2024?")).how_to == ()


def test_a_conversation_has_its_last_questions_and_answers(memories: Memories) -> None:
    own, monday = memories.for_key("ann"), Request(question="How cold?", session="monday")
    own.keep(monday, ended("run_1", short="-25 °C", answer="It works down to -25 °C [1]."))
    own.keep(monday, ended("run_1", short="-25 °C"))  # the same run, resumed
    own.keep(Request(question="How loud?", session="monday"), ended("run_2", Status.INSUFFICIENT, found="Nothing."))
    own.keep(Request(question="How much?", session="monday"), ended("run_3", Status.FAILED))
    own.keep(Request(question="How heavy?"), ended("run_4", short="12 kg"))
    conversation = own.recall(Request(question="q", session="monday")).conversation
    assert [(each.question, each.answer) for each in conversation] == [
        ("How cold?", "-25 °C"),
        ("How loud?", "Not found: Nothing."),
    ]
    assert own.recall(Request(question="q")).conversation == ()
    assert memories.for_key("bob").recall(Request(question="q", session="monday")).conversation == ()
    for number in range(10, 10 + EXCHANGES):
        own.keep(Request(question=f"Question {number}?", session="monday"), ended(f"run_{number}", short="yes"))
    assert len(own.recall(Request(question="q", session="monday")).conversation) == EXCHANGES


def test_limits_on_memories_are_enforced(memories: Memories) -> None:
    for text in ("", "  ", "x" * 501):
        with pytest.raises(AgentError, match="1 to 500 characters"):
            memories.add("preference", text, "ann")
    for number in range(PREFERENCES):
        memories.add("preference", f"Wish {number}", "ann")
    with pytest.raises(AgentError, match=f"already {PREFERENCES} preferences"):
        memories.add("preference", "One more.", "ann")
    own = memories.for_key("ann")
    own.keep(Request(question="How cold?", session="s"), ended("run_1", short="-25 °C"))
    with pytest.raises(AgentError, match="can be deleted, but not edited"):
        memories.edit(memories.entries("ann", "conversation")[0].id, "Warm.", "ann")


def test_notes_are_found_after_a_change_of_the_embedding_model(
    memories: Memories, tmp_path: Path, embedder: Embedder
) -> None:
    memories.add("how_to", FROST, "ann")
    engine = make_engine(tmp_path / "m.db")
    other = Memories(engine, lambda text: -embedder.embed_query(text), "another")
    assert other.how_to("Down to which temperature does it work?") == (FROST,)


def test_without_memories_the_prompt_has_no_section() -> None:
    assert show_remembered(Remembered(), "`question`") == ""
