"""Stored plans: templates found by name, and successful plans found by similarity of their questions."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from multi_agent.errors import AgentError, UnknownPlan
from multi_agent.memory.plans import EQUAL, EXAMPLE, PlanMemory, shape_of
from multi_agent.memory.similarity import SimilarityScale
from multi_agent.values.plan import Plan, Step
from support.database import make_engine
from support.scales import shifted
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Vectors

PAPERS = "papers"
QUESTIONS = Path(__file__).parents[3] / "sample_docs" / "questions.jsonl"
TOP_3 = "What are the top 3 fastest marathon times in 2024?"
TOP_5 = "What are the top 5 fastest marathon times in 2023?"
COACH = "Who coaches the runner of the fastest marathon of 2024?"
KEYS = "How many keys did the tenants of Auenweg 6 receive altogether?"


def plan(*agents: str, ids: str = "abcdef", instruction: str = "Do it.", goal: str = "answer") -> Plan:
    """Return a plan that runs these agents in sequence."""
    steps = [
        Step(id=ids[at], agents=(agent,), instruction=instruction, needs=tuple(ids[at - 1 : at]))
        for at, agent in enumerate(agents)
    ]
    return Plan(goal=goal, steps=tuple(steps))


SEARCHING = plan("Retriever", "Extractor", "Synthesizer")
COMPUTING = plan("Retriever", "Extractor", "Analyst", "Synthesizer")


class TestATemplate:
    def test_is_found_by_name_with_its_question(self, plans: PlanMemory) -> None:
        plans.save("ranking", COMPUTING, TOP_3)
        found = plans.get("ranking")
        assert (found.name, found.question, found.plan) == ("ranking", TOP_3, COMPUTING)

    def test_is_listed_by_name_unlike_remembered_plans(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS)
        plans.save("facts", SEARCHING, COACH)
        plans.remember(TOP_3, COMPUTING, PAPERS)
        assert [each.name for each in plans.list()] == ["facts", "sums"]

    def test_that_is_unknown_raises_an_error_with_known_names(self, plans: PlanMemory) -> None:
        with pytest.raises(UnknownPlan, match="No plan is saved yet"):
            plans.get("ranking")
        plans.save("sums", COMPUTING, KEYS)
        with pytest.raises(UnknownPlan, match=r"no plan 'ranking'\. The plans are 'sums'"):
            plans.get("ranking")
        with pytest.raises(UnknownPlan, match=r"no plan 'ranking'\. The plans are 'sums'"):
            plans.delete("ranking")

    def test_is_not_found_after_deletion(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS)
        plans.delete("sums")
        assert plans.list() == ()
        assert plans.similar(KEYS, 1, PAPERS) == ()

    def test_is_not_overwritten(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS)
        with pytest.raises(AgentError, match="already a plan 'sums'"):
            plans.save("sums", SEARCHING, COACH)
        assert plans.get("sums").plan == COMPUTING

    @pytest.mark.parametrize("name", ["", "  ", "x" * 101])
    def test_needs_a_valid_name(self, plans: PlanMemory, name: str) -> None:
        with pytest.raises(AgentError, match="is not a valid plan name"):
            plans.save(name, COMPUTING, KEYS)


class TestATemplateOfACollection:
    def test_is_found_among_its_collection_only(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS, "secret")
        plans.save("facts", SEARCHING, COACH)
        assert [each.name for each in plans.list(frozenset({PAPERS}))] == ["facts"]
        assert [each.name for each in plans.list(frozenset({"secret"}))] == ["facts", "sums"]
        assert plans.get("sums", frozenset({"secret"})) == plans.get("sums")
        with pytest.raises(UnknownPlan, match=r"no plan 'sums'\. The plans are 'facts'"):
            plans.get("sums", frozenset({PAPERS}))

    def test_is_an_example_for_its_collection_only(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS, "secret")
        assert plans.similar(KEYS, 1, PAPERS) == ()
        assert [each.name for each in plans.similar(KEYS, 1, "secret")] == ["sums"]

    def test_keeps_its_collection_when_it_is_replaced(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS, "secret")
        plans.replace("sums", SEARCHING, COACH)
        assert plans.list(frozenset({PAPERS})) == ()
        plans.replace("sums", SEARCHING, COACH, PAPERS)
        assert len(plans.list(frozenset({PAPERS}))) == 1


class TestSimilarQuestions:
    def test_return_templates_and_remembered_plans_best_first(self, plans: PlanMemory) -> None:
        plans.save("coaches", SEARCHING, COACH)
        plans.remember(TOP_5, COMPUTING, PAPERS)
        plans.remember(KEYS, SEARCHING, PAPERS)
        found = plans.similar(TOP_3, 5, PAPERS)
        assert [(each.name, each.question, each.plan) for each in found] == [
            ("", TOP_5, COMPUTING),
            ("coaches", COACH, SEARCHING),
        ]
        assert 1 > found[0].similarity > 0.95 > found[1].similarity

    def test_respect_the_limit(self, plans: PlanMemory) -> None:
        plans.save("coaches", SEARCHING, COACH)
        plans.remember(TOP_5, COMPUTING, PAPERS)
        assert [each.question for each in plans.similar(TOP_3, 1, PAPERS)] == [TOP_5]

    def test_are_not_embedded_when_no_plan_is_stored(self, tmp_path: Path) -> None:
        def embed(_: str) -> Vectors:
            raise AssertionError("no embedding is needed")

        memory = PlanMemory(make_engine(tmp_path / "p.db"), embed, "any")
        assert memory.similar(TOP_3, 2, PAPERS) == ()

    def test_are_found_by_another_instance(self, tmp_path: Path, embedder: Embedder) -> None:
        engine = make_engine(tmp_path / "p.db")
        PlanMemory(engine, lambda text: embedder.embed_query(text)[0], embedder.model).remember(
            TOP_5, COMPUTING, PAPERS
        )
        later = PlanMemory(engine, lambda text: embedder.embed_query(text)[0], embedder.model)
        assert [each.question for each in later.similar(TOP_3, 2, PAPERS)] == [TOP_5]

    def test_are_embedded_again_after_a_change_of_the_model(self, tmp_path: Path, embedder: Embedder) -> None:
        engine = make_engine(tmp_path / "p.db")
        old = PlanMemory(engine, lambda _: np.ones(3, dtype=np.float32), "a smaller model")
        old.remember(TOP_5, COMPUTING, PAPERS)
        asked: list[str] = []

        def embed(question: str) -> Vectors:
            if question in (TOP_5, TOP_3):  # all other questions only measure the similarity scale of the model
                asked.append(question)
            return embedder.embed_query(question)[0]

        new = PlanMemory(engine, embed, embedder.model)
        assert [each.question for each in new.similar(TOP_3, 2, PAPERS)] == [TOP_5]
        assert [each.question for each in new.similar(TOP_3, 2, PAPERS)] == [TOP_5]
        assert asked == [TOP_5, TOP_3, TOP_3], "the stored question is embedded again once"


class TestAPlanRememberedForACollection:
    def test_is_found_for_that_collection_only(self, plans: PlanMemory) -> None:
        """Questions on one collection must not reveal the content of another."""
        plans.remember(TOP_5, COMPUTING, "races")
        assert [each.question for each in plans.similar(TOP_3, 5, "races")] == [TOP_5]
        assert plans.similar(TOP_3, 5, PAPERS) == ()

    def test_can_be_remembered_for_another_collection_too(self, plans: PlanMemory) -> None:
        plans.remember(TOP_5, COMPUTING, "races")
        plans.remember(TOP_3, COMPUTING, PAPERS)
        assert [each.question for each in plans.similar(TOP_3, 5, PAPERS)] == [TOP_3]

    def test_does_not_include_named_templates(self, plans: PlanMemory) -> None:
        plans.save("ranking", COMPUTING, TOP_5)
        assert [each.name for each in plans.similar(TOP_3, 5, "any")] == ["ranking"]


class TestRemembering:
    def test_keeps_one_plan_per_shape_and_question(self, plans: PlanMemory) -> None:
        plans.remember(TOP_3, COMPUTING, PAPERS)
        plans.remember(
            TOP_5, plan("Retriever", "Extractor", "Analyst", "Synthesizer", ids="uvwx", instruction="Go."), PAPERS
        )
        assert [each.question for each in plans.similar(TOP_3, 5, PAPERS)] == [TOP_3]

    def test_keeps_other_plans_and_other_questions(self, plans: PlanMemory) -> None:
        plans.remember(TOP_3, COMPUTING, PAPERS)
        plans.remember(TOP_3, SEARCHING, PAPERS)
        plans.remember(COACH, SEARCHING, PAPERS)
        assert [(each.question, each.plan) for each in plans.similar(TOP_3, 5, PAPERS)] == [
            (TOP_3, COMPUTING),
            (TOP_3, SEARCHING),
            (COACH, SEARCHING),
        ]

    def test_stores_no_duplicates_from_parallel_runs(self, plans: PlanMemory) -> None:
        runs = [threading.Thread(target=plans.remember, args=(TOP_3, COMPUTING, PAPERS)) for _ in range(4)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        assert len(plans.similar(TOP_3, 10, PAPERS)) == 1


def test_the_shape_of_a_plan_ignores_names_and_wording() -> None:
    same = plan("Retriever", "Extractor", "Synthesizer", ids="xyz", instruction="Something else.", goal="other")
    side_by_side = same.model_copy(
        update={"steps": tuple(step.model_copy(update={"needs": ()}) for step in same.steps)}
    )
    fast = SEARCHING.model_copy(update={"mode": "fast"})
    assert shape_of(same) == shape_of(SEARCHING)
    assert len({shape_of(each) for each in (SEARCHING, COMPUTING, side_by_side, fast)}) == 4


@pytest.mark.parametrize("shift", [0.0, 1.5], ids=["MiniLM", "a model whose similarities are all high"])
def test_the_scale_separates_the_sample_questions(tmp_path: Path, embedder: Embedder, shift: float) -> None:
    """Each question has few examples, none on an unrelated subject, and few questions count as equal."""
    embed = shifted(embedder, shift)
    scale = SimilarityScale(make_engine(tmp_path / "s.db"), embed, "any")
    example, equal = scale.at(EXAMPLE), scale.at(EQUAL)
    lines = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    subjects = [line["gold"][0]["document"] if line["gold"] else "" for line in lines]
    vectors = np.array([embed(line["question"]) for line in lines])
    like = vectors @ vectors.T - np.eye(len(lines))
    assert 2 < (like >= example).sum(axis=1).mean() < 4
    assert (like >= equal).sum() / 2 <= 4
    sport = [at for at, subject in enumerate(subjects) if subject == "road_race_results.csv"]
    home = [at for at, subject in enumerate(subjects) if subject in ("tenancy_agreement.docx", "kitchen_notebook.md")]
    assert like[np.ix_(sport, home)].max() < example
