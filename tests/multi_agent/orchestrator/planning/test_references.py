"""References to outputs of earlier steps: found, checked and resolved in nested values."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.agent import StepOutput
from multi_agent.errors import ReferenceFailed
from multi_agent.orchestrator.planning.validation import resolve, stand_in
from multi_agent.values.plan import Plan, Reference, Step, find_malformed, find_references


class Found(StepOutput):
    answer: str = ""
    names: tuple[str, ...] = ()
    count: int = 0
    sure: bool = False


OUTPUTS = {"hop": Found(answer="Halden Therm", names=("a.csv", "b.csv"), count=3, sure=True)}
NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)
REFERENCES = st.builds(Reference, NAMES, NAMES)
PLAIN = st.text(max_size=20).filter(lambda text: "@{" not in text and not text.endswith("@"))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | PLAIN,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(PLAIN, inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("value", "resolved"),
    [
        ("@{outputs.hop.answer}", "Halden Therm"),
        ("Who leads @{outputs.hop.answer}, and since when?", "Who leads Halden Therm, and since when?"),
        ("@{outputs.hop.names}", ("a.csv", "b.csv")),
        (["x", "@{outputs.hop.names}"], ["x", "a.csv", "b.csv"]),
        (["in @{outputs.hop.names}"], ["in a.csv, b.csv"]),
        ("@{outputs.hop.count}", 3),
        ("top @{outputs.hop.count}: @{outputs.hop.sure}", "top 3: true"),
        ({"a": [{"b": "@{outputs.hop.answer}"}]}, {"a": [{"b": "Halden Therm"}]}),
        ("costs $5 and {braces}", "costs $5 and {braces}"),
    ],
)
def test_a_reference_is_replaced_by_the_output(value: Any, resolved: Any) -> None:
    assert resolve(value, OUTPUTS, OUTPUTS) == resolved


@given(JSON)
def test_a_value_without_references_is_unchanged(value: Any) -> None:
    assert find_references(value) == ()
    assert find_malformed(value) == ()
    assert resolve(value, {}, ()) == value


@given(st.lists(st.tuples(PLAIN, REFERENCES), min_size=1, max_size=4), PLAIN)
def test_every_reference_in_a_text_is_found_and_replaced(parts: list[tuple[str, Reference]], end: str) -> None:
    text = "".join(f"{before}|{reference}" for before, reference in parts) + f"|{end}"
    assert set(find_references({"deep": [text]})) == {reference for _, reference in parts}
    outputs = {reference.step: _Anything() for _, reference in parts}
    types = {reference: str for _, reference in parts}
    assert stand_in(text, types, "X") == "".join(f"{before}|X" for before, _ in parts) + f"|{end}"
    with pytest.raises(ReferenceFailed):
        resolve(text, outputs, outputs)


class _Anything(StepOutput):
    pass


@given(st.text(max_size=30))
def test_outputs_are_not_parsed_for_references(answer: str) -> None:
    outputs = {"a": Found(answer=answer + "@{outputs.hop.answer}")}
    assert resolve("x @{outputs.a.answer}", outputs, outputs) == f"x {answer}@{{outputs.hop.answer}}"


@pytest.mark.parametrize(
    "text", ["@{outputs.hop}", "@{hop.answer}", "@{outputs.Hop.answer}", "see @{outputs.hop.answer"]
)
def test_a_malformed_reference_is_found(text: str) -> None:
    assert find_malformed(["fine", {"deep": text}]) == (text,)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("@{outputs.gone.answer}", "step 'gone', which gave nothing"),
        ("@{outputs.hop.colour}", "no output 'colour'; it has answer, names, count, sure"),
        ("@{outputs.empty.answer}", "is empty: step 'empty' found nothing"),
    ],
)
def test_an_unknown_reference_raises_an_error_with_the_reason(value: str, reason: str) -> None:
    with pytest.raises(ReferenceFailed, match=reason):
        resolve({"question": f"about {value}"}, {**OUTPUTS, "empty": Found()}, {*OUTPUTS, "empty", "gone"})


def test_zero_is_a_value() -> None:
    assert resolve("@{outputs.zero.count}", {"zero": Found(count=0)}, ("zero",)) == 0


def test_a_reference_makes_a_step_wait() -> None:
    first = Step(id="first", agents=("Reader",), instruction="find it")
    second = Step(id="second", agents=("Reader",), instruction="go", inputs={"question": "@{outputs.first.answer}?"})
    plan = Plan(goal="g", steps=(first, second))
    assert second.after == ("first",)
    assert plan.before(second) == {"first"}
    assert json.loads(plan.model_dump_json())["steps"][1]["needs"] == []


def test_a_reference_to_no_step_of_the_plan_is_a_persons_text() -> None:
    text = ["What costs @{outputs.a.b}?", "@{outputs.a.b}"]
    assert resolve(text, OUTPUTS, ("hop",)) == text
