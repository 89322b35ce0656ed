"""Kept plans: templates by name, plans that worked by how like their question is, with the real embedding model."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import numpy as np
import pytest

from multi_agent.errors import AgentError, UnknownPlan
from multi_agent.memory.plans import LIKE, THE_SAME, PlanMemory, shape_of
from multi_agent.plan import Plan, Step
from support.database import make_engine
from vectorstore.embedding.embedder import Embedder
from vectorstore.store import Vectors

PAPERS = "papers"
QUESTIONS = Path(__file__).parents[3] / "sample_docs" / "questions.jsonl"
TOP_3 = "What are the top 3 fastest marathon times in 2024?"
TOP_5 = "What are the top 5 fastest marathon times in 2023?"
COACH = "Who coaches the runner of the fastest marathon of 2024?"
KEYS = "How many keys did the tenants of Auenweg 6 receive altogether?"


def plan(*agents: str, ids: str = "abcdef", instruction: str = "Do it.", goal: str = "answer") -> Plan:
    """These agents, one after the other."""
    steps = [
        Step(id=ids[at], agents=(agent,), instruction=instruction, needs=tuple(ids[at - 1 : at]))
        for at, agent in enumerate(agents)
    ]
    return Plan(goal=goal, steps=tuple(steps))


SEARCHING = plan("Retriever", "Extractor", "Synthesizer")
COMPUTING = plan("Retriever", "Extractor", "Analyst", "Synthesizer")


class TestATemplate:
    def test_is_found_by_its_name_with_the_question_it_was_made_for(self, plans: PlanMemory) -> None:
        plans.save("ranking", COMPUTING, TOP_3)
        found = plans.get("ranking")
        assert (found.name, found.question, found.plan) == ("ranking", TOP_3, COMPUTING)

    def test_stands_in_the_list_by_name_and_what_is_only_remembered_does_not(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS)
        plans.save("facts", SEARCHING, COACH)
        plans.remember(TOP_3, COMPUTING, PAPERS)
        assert [each.name for each in plans.list()] == ["facts", "sums"]

    def test_that_is_not_there_is_an_error_that_names_those_there_are(self, plans: PlanMemory) -> None:
        with pytest.raises(UnknownPlan, match="none is saved yet: `candor plans save"):
            plans.get("ranking")
        plans.save("sums", COMPUTING, KEYS)
        with pytest.raises(UnknownPlan, match="no plan 'ranking'; there are 'sums'"):
            plans.get("ranking")
        with pytest.raises(UnknownPlan, match="no plan 'ranking'; there are 'sums'"):
            plans.delete("ranking")

    def test_is_gone_when_it_is_deleted(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS)
        plans.delete("sums")
        assert plans.list() == ()
        assert plans.similar(KEYS, 1, PAPERS) == ()

    def test_is_not_overwritten(self, plans: PlanMemory) -> None:
        plans.save("sums", COMPUTING, KEYS)
        with pytest.raises(AgentError, match=r"a plan 'sums' already.*candor plans rm sums"):
            plans.save("sums", SEARCHING, COACH)
        assert plans.get("sums").plan == COMPUTING

    @pytest.mark.parametrize("name", ["", "  ", "x" * 101])
    def test_needs_a_name_that_can_be_one(self, plans: PlanMemory, name: str) -> None:
        with pytest.raises(AgentError, match="cannot name a plan"):
            plans.save(name, COMPUTING, KEYS)


class TestSimilarQuestions:
    def test_bring_templates_and_remembered_plans_the_most_similar_first(self, plans: PlanMemory) -> None:
        plans.save("coaches", SEARCHING, COACH)
        plans.remember(TOP_5, COMPUTING, PAPERS)
        plans.remember(KEYS, SEARCHING, PAPERS)
        found = plans.similar(TOP_3, 5, PAPERS)
        assert [(each.name, each.question, each.plan) for each in found] == [
            ("", TOP_5, COMPUTING),
            ("coaches", COACH, SEARCHING),
        ]
        assert 1 > found[0].similarity > 0.95 > found[1].similarity > LIKE

    def test_are_no_more_than_asked_for(self, plans: PlanMemory) -> None:
        plans.save("coaches", SEARCHING, COACH)
        plans.remember(TOP_5, COMPUTING, PAPERS)
        assert [each.question for each in plans.similar(TOP_3, 1, PAPERS)] == [TOP_5]

    def test_are_not_looked_for_when_nothing_is_kept(self, tmp_path: Path) -> None:
        def embed(_: str) -> Vectors:
            raise AssertionError("the model need not be loaded for this")

        memory = PlanMemory(make_engine(tmp_path / "p.db"), embed, "any")
        assert memory.similar(TOP_3, 2, PAPERS) == ()

    def test_are_found_by_another_process_later(self, tmp_path: Path, embedder: Embedder) -> None:
        engine = make_engine(tmp_path / "p.db")
        PlanMemory(engine, embedder.embed_query, embedder.model).remember(TOP_5, COMPUTING, PAPERS)
        later = PlanMemory(engine, embedder.embed_query, embedder.model)
        assert [each.question for each in later.similar(TOP_3, 2, PAPERS)] == [TOP_5]

    def test_are_embedded_anew_after_a_change_of_the_model(self, tmp_path: Path, embedder: Embedder) -> None:
        engine = make_engine(tmp_path / "p.db")
        old = PlanMemory(engine, lambda _: np.ones(3, dtype=np.float32), "a smaller model")
        old.remember(TOP_5, COMPUTING, PAPERS)
        asked: list[str] = []

        def embed(question: str) -> Vectors:
            asked.append(question)
            return embedder.embed_query(question)

        new = PlanMemory(engine, embed, embedder.model)
        assert [each.question for each in new.similar(TOP_3, 2, PAPERS)] == [TOP_5]
        assert [each.question for each in new.similar(TOP_3, 2, PAPERS)] == [TOP_5]
        assert asked == [TOP_5, TOP_3, TOP_3], "what was kept is embedded again once"


class TestWhatIsRememberedOfACollection:
    def test_is_shown_to_questions_over_it_alone(self, plans: PlanMemory) -> None:
        """Whoever may read one collection learns nothing from the questions that were asked of another."""
        plans.remember(TOP_5, COMPUTING, "races")
        assert [each.question for each in plans.similar(TOP_3, 5, "races")] == [TOP_5]
        assert plans.similar(TOP_3, 5, PAPERS) == ()

    def test_does_not_keep_another_from_remembering_the_same(self, plans: PlanMemory) -> None:
        plans.remember(TOP_5, COMPUTING, "races")
        plans.remember(TOP_3, COMPUTING, PAPERS)
        assert [each.question for each in plans.similar(TOP_3, 5, PAPERS)] == [TOP_3]

    def test_is_not_what_a_person_saved_by_name(self, plans: PlanMemory) -> None:
        plans.save("ranking", COMPUTING, TOP_5)
        assert [each.name for each in plans.similar(TOP_3, 5, "any")] == ["ranking"]


class TestRemembering:
    def test_keeps_one_plan_of_a_shape_for_nearly_the_same_question(self, plans: PlanMemory) -> None:
        plans.remember(TOP_3, COMPUTING, PAPERS)
        plans.remember(
            TOP_5, plan("Retriever", "Extractor", "Analyst", "Synthesizer", ids="uvwx", instruction="Go."), PAPERS
        )
        assert [each.question for each in plans.similar(TOP_3, 5, PAPERS)] == [TOP_3]

    def test_keeps_another_plan_for_the_same_question_and_the_same_plan_for_another(self, plans: PlanMemory) -> None:
        plans.remember(TOP_3, COMPUTING, PAPERS)
        plans.remember(TOP_3, SEARCHING, PAPERS)
        plans.remember(COACH, SEARCHING, PAPERS)
        assert [(each.question, each.plan) for each in plans.similar(TOP_3, 5, PAPERS)] == [
            (TOP_3, COMPUTING),
            (TOP_3, SEARCHING),
            (COACH, SEARCHING),
        ]

    def test_does_not_double_what_runs_that_end_at_once_found(self, plans: PlanMemory) -> None:
        runs = [threading.Thread(target=plans.remember, args=(TOP_3, COMPUTING, PAPERS)) for _ in range(4)]
        for run in runs:
            run.start()
        for run in runs:
            run.join()
        assert len(plans.similar(TOP_3, 10, PAPERS)) == 1


def test_the_shape_of_a_plan_is_who_waits_for_whom_and_not_how_it_is_worded() -> None:
    same = plan("Retriever", "Extractor", "Synthesizer", ids="xyz", instruction="Something else.", goal="other")
    side_by_side = same.model_copy(
        update={"steps": tuple(step.model_copy(update={"needs": ()}) for step in same.steps)}
    )
    fast = SEARCHING.model_copy(update={"mode": "fast"})
    assert shape_of(same) == shape_of(SEARCHING)
    assert len({shape_of(each) for each in (SEARCHING, COMPUTING, side_by_side, fast)}) == 4


def test_the_thresholds_part_the_questions_over_the_sample_documents(embedder: Embedder) -> None:
    """Examples are few and of the subject; what counts as the same question is rare."""
    lines = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    subjects = [line["gold"][0]["document"] if line["gold"] else "" for line in lines]
    vectors = np.array([embedder.embed_query(line["question"]) for line in lines])
    like = vectors @ vectors.T - np.eye(len(lines))
    assert 2 < (like >= LIKE).sum(axis=1).mean() < 4
    assert (like >= THE_SAME).sum() / 2 <= 4
    sport = [at for at, subject in enumerate(subjects) if subject == "road_race_results.csv"]
    home = [at for at, subject in enumerate(subjects) if subject in ("tenancy_agreement.docx", "kitchen_notebook.md")]
    assert like[np.ix_(sport, home)].max() < LIKE
