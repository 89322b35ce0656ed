"""Memories: storage, search by question, and display to the planner."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from multi_agent.errors import AgentError, NotKept
from multi_agent.memory.memories import EXCHANGES, PREFERENCES, Memories
from multi_agent.memory.similarity import SimilarityScale
from multi_agent.prompts.show_remembered import show_remembered
from multi_agent.values.answer import Answer, Status
from multi_agent.values.context import Claim
from multi_agent.values.request import Exchange, Remembered, Request, ToolUse
from support.database import make_engine
from support.scales import shifted
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Vectors

FROST = "Operating temperatures stand in the data sheets, not in the brochures."
RANKING = "For rankings by turnover, scan the annual reports: the table is on page 3."
SPEED = ToolUse(call="web_search(limit, query)", purpose="find the speed limit for cars in Graz", run_id="run_1")


@pytest.fixture
def memories(tmp_path: Path, embedder: Embedder) -> Memories:
    return Memories(make_engine(tmp_path / "m.db"), lambda text: embedder.embed_query(text)[0], embedder.model)


def ended(run_id: str, status: Status = Status.ANSWERED, question: str = "q", **more: Any) -> Answer:
    return Answer(run_id=run_id, status=status, mode="high", question=question, **more)


def test_preferences_belong_to_one_key(memories: Memories) -> None:
    german = memories.add("preference", " Answer in German. ", "ann")
    memories.add("preference", "Be brief.", "bob")
    assert memories.for_key("ann").recall(Request(question="q"), "papers").preferences == ("Answer in German.",)
    assert [entry.text for entry in memories.entries("bob")] == ["Be brief."]
    for attempt in (memories.get, memories.delete, lambda its, key: memories.edit(its, "Mine now.", key)):
        with pytest.raises(NotKept, match=f"There is no memory '{german.id}'"):
            attempt(german.id, "bob")
    memories.edit(german.id, "Answer in Dutch.", "ann")
    assert memories.get(german.id, "ann").text == "Answer in Dutch."
    memories.delete(german.id, "ann")
    assert memories.entries("ann") == ()


@pytest.mark.parametrize("shift", [0.0, 1.5], ids=["MiniLM", "a model whose similarities are all high"])
def test_how_to_notes_are_shared_and_found_by_similarity(tmp_path: Path, embedder: Embedder, shift: float) -> None:
    memories = Memories(make_engine(tmp_path / "m.db"), shifted(embedder, shift), f"shifted by {shift}")
    memories.add("how_to", FROST, "ann")
    memories.add("how_to", RANKING, "ann")
    own = memories.for_key("bob")

    def notes(question: str) -> tuple[str, ...]:
        return own.recall(Request(question=question), "papers").how_to

    assert notes("Down to which temperature does the Borea 12 work?") == (FROST,)
    assert notes("Which companies had the largest turnover?") == (RANKING,)
    assert notes("Who won the marathon in 2024?") == ()


def test_notes_for_a_follow_up_question_are_found_by_the_question_before(memories: Memories) -> None:
    memories.add("how_to", FROST, "ann")
    own, monday = memories.for_key("ann"), Request(question="And in summer?", session="monday")
    assert own.recall(monday, "papers").how_to == ()
    asked = Request(question="Down to which temperature does the Borea 12 work?", session="monday")
    own.keep(asked, "papers", ended("run_1", question=asked.question, short="-25 °C"))
    assert own.recall(monday, "papers").how_to == (FROST,)


def test_the_conversation_of_a_request_follows_that_of_its_session(memories: Memories) -> None:
    own = memories.for_key("ann")
    own.keep(
        Request(question="How cold?", session="monday"), "papers", ended("run_1", question="How cold?", short="-25 °C")
    )
    brought = Exchange(question="How loud?", answer="52 dB")
    request = Request(question="q", session="monday", conversation=(brought,))
    assert own.recall(request, "papers").conversation == (Exchange(question="How cold?", answer="-25 °C"), brought)


def test_the_completed_question_is_kept(memories: Memories) -> None:
    own, monday = memories.for_key("ann"), Request(question="And in summer?", session="monday")
    own.keep(monday, "papers", ended("run_1", short="40 °C", completed_question="How hot may it get in summer?"))
    [kept] = own.recall(monday, "papers").conversation
    assert kept.question == "How hot may it get in summer?"


def test_the_short_answer_is_set_apart_from_its_claims(memories: Memories) -> None:
    """A model would read "Scheele; Priestley Oxygen" as two names."""
    own, monday = memories.for_key("ann"), Request(question="Who found it?", session="monday")
    claim = Claim(text="Oxygen was found by Scheele and Priestley.", supported=True)
    own.keep(monday, "papers", ended("run_1", short="Scheele; Priestley", claims=(claim,)))
    [kept] = own.recall(monday, "papers").conversation
    assert kept.answer == f"Scheele; Priestley: {claim.text}"


class TestToolUse:
    def test_is_found_for_similar_questions_to_the_same_collection(self, memories: Memories) -> None:
        memories.for_key("ann").keep_tool_uses("papers", (SPEED,))
        own = memories.for_key("bob")
        assert own.recall(Request(question="How fast may cars drive in Graz?"), "papers").tool_uses == (SPEED,)
        assert own.recall(Request(question="Who won the marathon in 2024?"), "papers").tool_uses == ()
        assert own.recall(Request(question="How fast may cars drive in Graz?"), "letters").tool_uses == ()

    def test_is_kept_once_and_up_to_a_limit(self, memories: Memories, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("multi_agent.memory.memories.TOOL_USES_KEPT", 2)
        own = memories.for_key("ann")
        for number in (1, 1, 2, 3):
            own.keep_tool_uses("papers", (SPEED.model_copy(update={"purpose": f"find speed limit {number}"}),))
        kept = [entry.text for entry in memories.entries("ann", "tool_use")]
        assert kept == ["find speed limit 2", "find speed limit 3"]

    def test_is_listed_for_its_key_only_and_can_be_deleted_but_not_edited(self, memories: Memories) -> None:
        memories.for_key("ann").keep_tool_uses("papers", (SPEED,))
        assert memories.entries("bob") == ()
        [entry] = memories.entries("ann")
        assert (entry.kind, entry.text, entry.answer, entry.session) == (
            "tool_use", SPEED.purpose, "web_search(limit, query)", "run_1",
        )  # fmt: skip
        with pytest.raises(AgentError, match="A tool use can be deleted, but not edited"):
            memories.edit(entry.id, "Something else.", "ann")
        memories.delete(entry.id, "ann")
        assert memories.entries("ann") == ()


def test_the_scale_of_a_model_is_measured_once_and_stored(tmp_path: Path, embedder: Embedder) -> None:
    engine, embedded = make_engine(tmp_path / "m.db"), []

    def embed(text: str) -> Vectors:
        embedded.append(text)
        return embedder.embed_query(text)[0]

    measured = [SimilarityScale(engine, embed, "a model").at(0) for _ in range(2)]
    assert measured[0] == measured[1]
    assert len(embedded) == len(set(embedded)) > 0
    assert SimilarityScale(engine, shifted(embedder, 1.5), "another").at(0) > measured[0] + 0.3


def test_a_conversation_has_its_last_questions_and_answers(memories: Memories) -> None:
    own, monday = memories.for_key("ann"), Request(question="How cold?", session="monday")
    cold = ended("run_1", question="How cold?", short="-25 °C", answer="It works down to -25 °C [1].")
    own.keep(monday, "papers", cold)
    own.keep(monday, "papers", cold)  # the same run, resumed
    said = Claim(text="It works at -25 °C.", evidence=(), supported=True)
    own.keep(monday, "papers", ended("run_5", question="How?", short="-25 °C", claims=(said,)))
    loud = ended("run_2", Status.INSUFFICIENT, "How loud?", found="Read 9 passages.", missing=("the sound level",))
    own.keep(Request(question="How loud?", session="monday"), "papers", loud)
    own.keep(Request(question="How much?", session="monday"), "papers", ended("run_3", Status.FAILED))
    own.keep(Request(question="How heavy?"), "papers", ended("run_4", short="12 kg"))
    conversation = own.recall(Request(question="q", session="monday"), "papers").conversation
    assert [(each.question, each.answer) for each in conversation] == [
        ("How cold?", "-25 °C"),
        ("How?", "It works at -25 °C."),
        ("How loud?", "Not found: the sound level"),
    ]
    assert own.recall(Request(question="q"), "papers").conversation == ()
    assert memories.for_key("bob").recall(Request(question="q", session="monday"), "papers").conversation == ()
    for number in range(10, 10 + EXCHANGES):
        own.keep(
            Request(question=f"Question {number}?", session="monday"), "papers", ended(f"run_{number}", short="yes")
        )
    assert len(own.recall(Request(question="q", session="monday"), "papers").conversation) == EXCHANGES


def test_limits_on_memories_are_enforced(memories: Memories) -> None:
    for text in ("", "  ", "x" * 501):
        with pytest.raises(AgentError, match="1 to 500 characters"):
            memories.add("preference", text, "ann")
    for number in range(PREFERENCES):
        memories.add("preference", f"Wish {number}", "ann")
    with pytest.raises(AgentError, match=f"already {PREFERENCES} preferences"):
        memories.add("preference", "One more.", "ann")
    own = memories.for_key("ann")
    own.keep(Request(question="How cold?", session="s"), "papers", ended("run_1", short="-25 °C"))
    with pytest.raises(AgentError, match="can be deleted, but not edited"):
        memories.edit(memories.entries("ann", "conversation")[0].id, "Warm.", "ann")


def test_notes_are_found_after_a_change_of_the_embedding_model(
    memories: Memories, tmp_path: Path, embedder: Embedder
) -> None:
    memories.add("how_to", FROST, "ann")
    engine = make_engine(tmp_path / "m.db")
    other = Memories(engine, lambda text: -embedder.embed_query(text)[0], "another")
    assert other.how_to("Down to which temperature does it work?") == (FROST,)


def test_without_memories_the_prompt_has_no_section() -> None:
    assert show_remembered(Remembered(), "`question`") == ""
