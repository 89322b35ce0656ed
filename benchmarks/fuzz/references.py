"""Fuzz references to outputs of earlier steps. Candor must read, write and resolve them in any value."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from benchmarks.fuzz.search import Property
from multi_agent.agent import StepOutput
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import ReferenceFailed
from multi_agent.orchestrator.planning.drafting import WrittenStep, draft_plan
from multi_agent.orchestrator.planning.templates import fill
from multi_agent.orchestrator.planning.validation import resolve, stand_in
from multi_agent.values.plan import Plan, Reference, Step, find_malformed, find_placeholders, find_references

REGISTRY = AgentRegistry.discover()
_PIECES = [
    "@", "@{", "${", "{", "{{", "}", "}}", "outputs.", "output.", "inputs.", "question", "hop", "Hop", "gone", ".",
    "..", "answer", "names", "_", "1", " ", "\n", "\u0000", "\u212a", "\\1", "@{question}", "@{inputs.town}",
    "@{outputs.hop.answer}", "@{outputs.hop.names}", "@{outputs.hop.count}", "@{outputs.hop.sure}",
    "@{outputs.hop.empty}", "@{outputs.gone.answer}", "{{hop.answer}}", "{ hop }",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(_PIECES) | st.text(max_size=4), max_size=8).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=10,
)
_NAMES = st.from_regex(r"[a-z][a-z0-9_]{0,39}", fullmatch=True)


class Output(StepOutput):
    """The output of the step ``hop``."""

    answer: str = "@{outputs.hop.answer} and @{question}"
    names: tuple[str, ...] = ("a.csv", "@{outputs.gone.answer}")
    count: int = 0
    sure: bool = False
    empty: str = ""


def any_value_is_resolved_or_refused(value: Any) -> None:
    references = find_references(value)
    assert find_references(json.loads(json.dumps(value))) == references
    for reference in references:
        assert find_references(f"x{reference}y") == (reference,)
    try:
        resolved = resolve(value, {"hop": Output()}, ("hop", "gone"))
    except ReferenceFailed as error:
        reason = str(error)
    else:
        reason = ""
    if reason:
        assert any(str(reference) in reason for reference in references)
        return
    if not references:
        assert resolved == value
    if isinstance(value, str) and find_malformed(value) and not references:
        assert resolved == value, "what is no reference stays"


def outputs_are_inserted_once(value: Any) -> None:
    """Check that a reference inside an output stays text."""
    kept = [text for text in [json.dumps(value)] if not find_references(text)]
    for text in kept:
        assert resolve(f"{text}@{{outputs.hop.answer}}", {"hop": Output()}, ("hop",)) == f"{text}{Output().answer}"


def every_reference_gets_a_sample(value: Any) -> None:
    types = dict.fromkeys(find_references(value), str)
    assert find_references(stand_in(value, types, "x")) == ()


def a_written_reference_is_read_back(names: tuple[str, str, str]) -> None:
    step, field, around = names
    reference = Reference(step, field)
    assert reference in find_references({"deep": [f"{around}{reference}{around}"]})
    assert find_references(str(reference)) == (reference,)
    assert find_malformed(str(reference)) == ()


def any_writing_of_a_reference_is_read(text: str) -> None:
    """Check that references in many spellings are read, and that the normalized spelling is read the same way."""
    written = [
        WrittenStep(id="hop", agent="Reader", inputs={"question": "x", "queries": []}),
        WrittenStep(id="next", agent="Reader", instruction=text, inputs={"question": text, "queries": [text]}),
    ]
    plan, _ = draft_plan("goal", written, REGISTRY, lambda _: None)
    again = [WrittenStep(id=s.id, agent=s.agents[0], instruction=s.instruction, inputs=s.inputs) for s in plan.steps]
    assert draft_plan("goal", again, REGISTRY, lambda _: None)[0] == plan


def any_template_is_filled_once(text: str) -> None:
    """Check that a placeholder inside a question or a value stays text."""
    step = Step(id="a", agents=("Reader",), instruction=text, inputs={"question": text, "queries": [text, "x"]})
    filled = fill(Plan(goal=text, steps=(step,)), "@{inputs.town}", {"town": "@{question}"})
    assert filled.steps[0].instruction == filled.goal == filled.steps[0].inputs["question"]
    if not find_placeholders(text):
        assert filled.goal == text


PROPERTIES = [
    Property(VALUES, any_value_is_resolved_or_refused),
    Property(VALUES, outputs_are_inserted_once),
    Property(VALUES, every_reference_gets_a_sample),
    Property(
        st.tuples(_NAMES, _NAMES, TEXTS.filter(lambda text: not text.endswith("@"))), a_written_reference_is_read_back
    ),
    Property(TEXTS, any_writing_of_a_reference_is_read),
    Property(TEXTS, any_template_is_filled_once),
]
