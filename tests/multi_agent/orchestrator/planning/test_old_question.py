"""Detection of words that a plan still shares with its original question."""

from __future__ import annotations

import pytest

from multi_agent.catalog.registry import BUILT_IN, AgentRegistry
from multi_agent.orchestrator.planning.templates import OldQuestion, documents_in
from multi_agent.values.plan import Parameter, Plan, Step

REGISTRY = AgentRegistry.discover((BUILT_IN,))
RACE = "Who won the Vinterholm Marathon of 2021?"


@pytest.mark.parametrize(
    ("question", "text", "shared"),
    [
        (RACE, "Find the winner of Vinterholm's race.", ("Vinterholm",)),
        (RACE, "race results 2021", ("2021",)),
        (RACE, "Find who won the race.", ()),
        (RACE, "@{question}", ()),
        (RACE, "Look up @{inputs.race} and @{outputs.vinterholm.answer}.", ()),
        ("Who is Dr. Borg?", "Read about Borg.", ("Borg",)),
        ("I read the report. What was the profit?", "Say what was found.", ()),
        ("In which city was the founder of Nordwind born?", "In which city was @{outputs.founder.answer} born?", ()),
        ("In which city was the founder of Nordwind born?", "In which city was she born?", ("in which city was",)),
        ('What does "late fee" mean?', "Explain the late fee.", ("late fee",)),
        ("How long is the warranty?", "Find the length of the warranty.", ("warranty",)),
        ("How long is the warranty of the Borea?", "Say how long is the warranty.", ("how long is the warranty",)),
        ("Which document answers the question?", "Answer the question from the document.", ()),
        ("保証期間はどのくらいですか", "保証期間を探す", ("保証期間",)),
    ],
)
def test_figures_names_quoted_words_and_word_sequences_are_shared(
    question: str, text: str, shared: tuple[str, ...]
) -> None:
    assert OldQuestion(question).shared_with_text(text) == shared


def test_every_text_of_a_plan_is_checked_except_names_of_documents() -> None:
    inputs = {"question": "@{question}", "queries": ["Vinterholm results"], "documents": ["vinterholm_2021.csv"]}
    plan = Plan(
        goal="know the winner in 2021",
        steps=(Step(id="read", agents=("Reader",), instruction="The Marathon.", inputs=inputs, final=True),),
        parameters=(Parameter(name="race", meaning="a race such as Vinterholm"),),
    )
    assert OldQuestion(RACE).shared_with(plan, REGISTRY) == (
        "the goal ('2021')",
        "the instruction of step 'read' ('Marathon')",
        "the input 'queries' of step 'read' ('Vinterholm')",
        "the meaning of the parameter 'race' ('Vinterholm')",
    )
    assert documents_in(plan, REGISTRY) == ("vinterholm_2021.csv",)
