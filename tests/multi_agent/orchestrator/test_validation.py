"""Every fault of a plan is named before anything runs."""

import pytest

from multi_agent.orchestrator.validation import faults
from multi_agent.plan import Plan, Step
from multi_agent.registry import AgentRegistry

REGISTRY = AgentRegistry.discover()
SEARCH = {"method": "search", "documents": []}
DOCUMENTS = ("a.csv", "b.pdf")


def step(step_id: str, agent: str, *needs: str, **inputs: object) -> Step:
    return Step(id=step_id, agent=agent, instruction="do it", needs=needs, inputs=inputs)


def plan(*steps: Step) -> Plan:
    return Plan(goal="answer", steps=steps)


GOOD = (
    step("queries", "QueryPlanner"),
    step("find", "Retriever", "queries", **SEARCH),
    step("look", "DataInspector", "find"),
    step("patterns", "PatternGenerator", "look"),
    step("extract", "Extractor", "patterns"),
    step("answer", "Synthesizer", "extract"),
)


def test_the_whole_panel_in_order_has_no_faults() -> None:
    assert faults(plan(*GOOD), REGISTRY, DOCUMENTS) == ()


def test_a_short_plan_has_no_faults() -> None:
    short = plan(step("f", "Retriever", **SEARCH), step("e", "Extractor", "f"), step("a", "Synthesizer", "e"))
    assert faults(short, REGISTRY, DOCUMENTS) == ()


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ((*GOOD, step("find", "Retriever", "queries", **SEARCH)), "The id 'find' is used by 2 steps"),
        ((*GOOD, step("x", "Oracle")), "Step 'x': there is no agent 'Oracle'; choose from DataInspector"),
        ((*GOOD, step("x", "QueryPlanner", "nowhere")), "Step 'x' needs 'nowhere', which is no step"),
        ((step("a", "QueryPlanner", "b"), step("b", "QueryPlanner", "a")), "wait for each other in a circle: a, b"),
        ((step("a", "QueryPlanner", "a"),), "wait for each other in a circle: a"),
        ((step("e", "Extractor"), step("a", "Synthesizer", "e")), "Extractor reads 'chunks', which no step before it"),
        ((step("find", "Retriever", **SEARCH),), "No step writes the answer; end with a step of Synthesizer"),
        (
            (step("find", "Retriever", method="guess", documents=[]), step("a", "Synthesizer", "find")),
            "Step 'find', input 'method'",
        ),
        ((step("find", "Retriever"), step("a", "Synthesizer", "find")), "Step 'find', input 'method'"),
        (
            (step("find", "Retriever", method="scan", documents=["c.csv"]), step("a", "Synthesizer", "find")),
            "Step 'find', input 'documents': Value error, there is no document named 'c.csv'",
        ),
        (
            (*GOOD[:3], step("look2", "DataInspector", "find"), step("answer", "Synthesizer", "look", "look2")),
            "Steps 'look' and 'look2' both write 'inspection'",
        ),
        ((*GOOD, step("idle", "QueryPlanner")), "The answering step 'answer' does not wait for idle"),
    ],
)
def test_each_fault_is_named(steps: tuple[Step, ...], fault: str) -> None:
    assert any(fault in each for each in faults(plan(*steps), REGISTRY, DOCUMENTS))


def test_all_faults_are_named_at_once() -> None:
    found = faults(plan(step("a", "Nobody", "gone"), step("a", "Nobody")), REGISTRY, DOCUMENTS)
    assert len(found) == 4, found
