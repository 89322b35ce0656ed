"""Validation of plans before they run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from multi_agent.catalog.registry import AgentRegistry
from multi_agent.orchestrator.executor import PlanProgress
from multi_agent.orchestrator.planning.validation import answering_step, faults
from multi_agent.values.plan import Mode, Plan, Step

REGISTRY = AgentRegistry.discover()
SEARCH = {"method": "search", "documents": [], "queries": []}
DOCUMENTS = ("a.csv", "b.pdf")


def step(step_id: str, agent: str, *needs: str, final: bool = False, **inputs: object) -> Step:
    agents = tuple(agent.split("+"))
    return Step(id=step_id, agents=agents, instruction="do it", needs=needs, inputs=inputs, final=final)


def read(step_id: str, question: str, *needs: str, final: bool = False) -> Step:
    return step(step_id, "Reader", *needs, final=final, question=question, queries=[])


def plan(*steps: Step, mode: Mode = "high") -> Plan:
    return Plan(goal="answer", mode=mode, steps=steps)


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
        ((*GOOD, step("x", "Oracle")), "Step 'x': there is no agent 'Oracle'; choose from Analyst, Catalogue"),
        ((*GOOD, step("x", "QueryPlanner", "nowhere")), "Step 'x' names 'nowhere', which is no step"),
        ((step("a", "QueryPlanner", "b"), step("b", "QueryPlanner", "a")), "wait for each other in a circle: a, b"),
        ((step("a", "QueryPlanner", "a"),), "wait for each other in a circle: a"),
        ((step("e", "Extractor"), step("a", "Synthesizer", "e")), "Extractor reads 'chunks', which no step before it"),
        ((step("find", "Retriever", **SEARCH),), "No step writes the answer; end with a step of Synthesizer"),
        (
            (step("find", "Retriever", method="guess", documents=[], queries=[]), step("a", "Synthesizer", "find")),
            "Step 'find', input 'method'",
        ),
        ((step("find", "Retriever"), step("a", "Synthesizer", "find")), "Step 'find', input 'method'"),
        (
            (
                step("find", "Retriever", method="scan", documents=["c.csv"], queries=[]),
                step("a", "Synthesizer", "find"),
            ),
            "Step 'find', input 'documents': Value error, there is no document named 'c.csv'",
        ),
        (
            (*GOOD[:3], step("look2", "DataInspector", "find"), step("answer", "Synthesizer", "look", "look2")),
            "Steps 'look' and 'look2' both write 'inspection'",
        ),
        ((*GOOD, step("idle", "QueryPlanner")), "The answering step 'answer' does not wait for idle"),
        ((read("r", "x"), step("a", "Synthesizer+Synthesizer", "r")), "Step 'a' names an agent twice"),
        (
            (read("r", "@{outputs.gone.answer}"), step("a", "Synthesizer", "r")),
            "Step 'r' names 'gone', which is no step",
        ),
        (
            (read("r", "x"), read("s", "@{outputs.r.colour}"), step("a", "Synthesizer", "s")),
            "@{outputs.r.colour}: step 'r' gives no 'colour'; it gives answer, sufficient",
        ),
        (
            (step("q", "DataInspector"), read("s", "@{outputs.q.nothing}"), step("a", "Synthesizer", "s")),
            "@{outputs.q.nothing}: step 'q' gives no 'nothing'",
        ),
        ((read("r", "@{r.answer}"), step("a", "Synthesizer", "r")), "'@{r.answer}' holds no right reference"),
        ((read("r", "@{outputs.r.answer}"), step("a", "Synthesizer", "r")), "wait for each other in a circle: r"),
        (
            (
                read("r", "x"),
                step("s", "Retriever", method="@{outputs.r.answer}", documents=[], queries=[]),
                step("a", "Synthesizer", "s"),
            ),
            "Step 's', input 'method'",
        ),
        ((read("r", "x", final=True), read("s", "y", final=True)), "Only one step can be final, not r, s"),
        ((step("q", "QueryPlanner", final=True),), "Step 'q' is final, but QueryPlanner writes no answer"),
    ],
)
def test_each_fault_is_named(steps: tuple[Step, ...], fault: str) -> None:
    assert any(fault in each for each in faults(plan(*steps), REGISTRY, DOCUMENTS))


def test_all_faults_are_named_at_once() -> None:
    found = faults(plan(step("a", "Nobody", "gone"), step("a", "Nobody")), REGISTRY, DOCUMENTS)
    assert len(found) == 4, found


def test_a_list_of_names_may_come_from_an_earlier_step() -> None:
    steps = (
        step("find", "Retriever", **SEARCH),
        step("all", "Retriever", method="scan", documents=["@{outputs.find.documents}"], queries=[]),
        step("e", "Extractor", "all"),
        step("a", "Synthesizer", "e"),
    )
    assert faults(plan(*steps), REGISTRY, DOCUMENTS) == ()


@pytest.mark.parametrize(
    "steps",
    [
        (*GOOD[:3], step("look2", "DataInspector", "look"), step("answer", "Synthesizer", "look2")),
        (step("q", "QueryPlanner"), step("q2", "QueryPlanner"), step("find", "Retriever", "q", "q2", **SEARCH)),
    ],
    ids=["one after the other", "a list, to which each adds"],
)
def test_two_steps_may_write_the_same(steps: tuple[Step, ...]) -> None:
    assert not [each for each in faults(plan(*steps), REGISTRY, DOCUMENTS) if "both write" in each]


def test_a_fast_plan_is_one_final_step() -> None:
    assert faults(plan(read("r", "x", final=True), mode="fast"), REGISTRY, DOCUMENTS) == ()
    for steps in ((read("r", "x"),), (*GOOD,), (read("r", "x"), read("s", "y", "r", final=True))):
        assert any("mode 'fast' is a single step" in each for each in faults(plan(*steps, mode="fast"), REGISTRY, ()))


def test_results_of_an_earlier_attempt_count_as_written() -> None:
    again = plan(step("e", "Extractor"), step("a", "Synthesizer", "e"))
    assert faults(again, REGISTRY, DOCUMENTS) != ()
    assert faults(again, REGISTRY, DOCUMENTS, known={"chunks"}) == ()


def test_the_fault_says_that_an_agent_is_disabled() -> None:
    registry = AgentRegistry.discover(disabled=("Reader",))
    assert "agent 'Reader' is disabled" in " ".join(faults(plan(read("r", "x", final=True)), registry, DOCUMENTS))


IDS = st.sampled_from(["a", "b", "c", "d"])
STEPS = st.builds(
    lambda step_id, agent, needs, final: step(
        step_id,
        agent,
        *needs,
        final=final,
        **(SEARCH if agent == "Retriever" else {"question": "x", "queries": []} if agent == "Reader" else {}),
    ),
    IDS,
    st.sampled_from([*REGISTRY.names, "Nobody"]),
    st.lists(IDS, max_size=2, unique=True),
    st.booleans(),
)


@given(st.lists(STEPS, min_size=1, max_size=5))
def test_a_valid_plan_can_run_to_its_end(steps: list[Step]) -> None:
    made = plan(*steps)
    if found := faults(made, REGISTRY, DOCUMENTS):
        assert all(found)
        return
    written: set[str] = set()
    progress = PlanProgress(made)
    while not progress.finished:
        starting = progress.start_ready()
        assert starting, "a plan without faults never gets stuck"
        for each in starting:
            assert REGISTRY.get(each.agents[0]).card.requires <= written
        written.update(*(REGISTRY.get(each.agents[0]).card.writes for each in starting))
        for each in starting:
            progress.finish(each, None)
    answering = answering_step(made, REGISTRY)
    assert answering
    assert made.before(answering) == {each.id for each in steps} - {answering.id}
    assert written & {"synthesis", "findings"}


def test_steps_that_wait_for_each_other_are_stuck() -> None:
    one, other = (Step(id=each, agents=("Reader",), instruction="", needs=(need,)) for each, need in ("ab", "ba"))
    progress = PlanProgress(plan(one, other))
    assert progress.start_ready() == ()
    assert progress.stuck == ("a", "b")


def test_a_plan_under_way_is_not_stuck() -> None:
    one, other = (
        Step(id=each, agents=("Reader",), instruction="", needs=need) for each, need in (("a", ()), ("b", ("a",)))
    )
    progress = PlanProgress(plan(one, other))
    assert [each.id for each in progress.start_ready()] == ["a"]
    assert progress.start_ready() == ()
    assert progress.stuck == ()
