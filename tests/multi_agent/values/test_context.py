"""Merging updates into the shared context; parallel steps lose nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.errors import ContextViolation
from multi_agent.values.context import (
    Computation,
    ContextUpdate,
    Evidence,
    Finding,
    Inspection,
    Note,
    Record,
    ResearchContext,
    Synthesis,
    Understanding,
)
from multi_agent.values.context_merge import admit, merge, number_evidence

EMPTY = ResearchContext(question="q", understanding=Understanding(intent="i", domain="d", requirements=("r",)))


def evidence(name: str, start: int) -> Evidence:
    return Evidence(
        number=1, document=f"/{name}", document_id=name, name=name, chunk_id="c", start=start, end=start + 1, quote="x"
    )


def test_an_update_changes_only_its_own_fields() -> None:
    before = EMPTY.model_copy(update={"queries": ("a",)})
    after = merge(before, ContextUpdate(notes=(Note(agent="A", text="t"),)), agent="A", writes=frozenset({"notes"}))
    assert after.queries == ("a",)
    assert [note.text for note in after.notes] == ["t"]
    assert before.notes == ()


def test_writing_an_undeclared_field_is_rejected() -> None:
    with pytest.raises(ContextViolation, match=r"'Spy' wrote \['queries'\]"):
        merge(EMPTY, ContextUpdate(queries=("x",)), agent="Spy", writes=frozenset({"notes"}))


def test_single_values_are_replaced() -> None:
    old, new = (Inspection(format=name, structure="s") for name in ("old", "new"))
    context = EMPTY.model_copy(update={"inspection": old})
    merged = merge(context, ContextUpdate(inspection=new), agent="A", writes=frozenset({"inspection"}))
    assert merged.inspection == new


def test_an_agent_sees_the_question_and_its_declared_fields() -> None:
    context = EMPTY.model_copy(update={"queries": ("a",), "notes": (Note(agent="A", text="t"),)})
    seen = context.only({"notes"})
    assert (seen.question, seen.notes, seen.queries) == ("q", context.notes, ())


@given(st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), max_size=12), st.randoms())
def test_evidence_is_numbered_by_document_and_position(pairs, random) -> None:
    shuffled = list(pairs)
    random.shuffle(shuffled)
    expected = sorted(set(pairs))
    result = number_evidence(evidence(name, start) for name, start in shuffled)
    assert [(item.name, item.start) for item in result] == expected
    assert [item.number for item in result] == list(range(1, len(expected) + 1))


def test_merged_evidence_keeps_each_reason_once() -> None:
    shown = [evidence("a", 1).model_copy(update={"why": why}) for why in ("its price", "its year", "", "its price")]
    once = number_evidence(shown)
    again = number_evidence([*once, *shown])
    assert [item.why for item in (*once, *again)] == ["its price; its year"] * 2


@given(st.lists(st.text(max_size=3)), st.lists(st.text(max_size=3)))
def test_queries_of_parallel_steps_are_merged(first, second) -> None:
    writes = frozenset({"queries"})
    context = merge(EMPTY, ContextUpdate(queries=tuple(first)), agent="A", writes=writes)
    context = merge(context, ContextUpdate(queries=tuple(second)), agent="B", writes=writes)
    assert set(context.queries) == {*first, *second}
    assert len(context.queries) == len(set(context.queries))


def finding(step: str, item: Evidence) -> Finding:
    synthesis = Synthesis(
        claims=(), evidence=(item,), layout="prose", sufficient=True, confidence=1, reasoning="", looked_for=(),
        found="", missing=(),
    )  # fmt: skip
    return Finding(step=step, question="q", synthesis=synthesis)


def test_what_rests_on_evidence_that_is_not_admitted_is_dropped() -> None:
    kept, dropped = number_evidence([evidence("a", 0), evidence("b", 0)])
    context = EMPTY.model_copy(
        update={
            "evidence": (kept, dropped),
            "findings": (finding("one", kept), finding("two", dropped)),
            "computations": tuple(
                Computation(purpose=each.name, sql="", columns=(), rows=(), evidence=(each,))
                for each in (kept, dropped)
            ),
            "records": (
                Record(values={}, chunk_id="c", start=0, end=1),
                Record(values={}, chunk_id="d", start=0, end=1),
            ),
        }
    )
    admitted = admit(context, (1,))
    assert admitted.evidence == (kept,)
    assert [each.step for each in admitted.findings] == ["one"]
    assert [each.purpose for each in admitted.computations] == ["a"]
    assert [each.chunk_id for each in admitted.records] == ["d"]
    assert admit(context, (1, 2)) == context
    assert admit(context, ()).findings == ()
