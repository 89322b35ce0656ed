"""The parts of benchmarks/local_model that choose questions, compare answers and compute figures."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from benchmarks.local_model.__main__ import count_calls, count_rejected, find_errors
from benchmarks.local_model.plain import is_refusal
from benchmarks.local_model.questions import SAMPLE_QUESTIONS, hotpot_questions, is_right, squad_questions
from benchmarks.local_model.results import calibrate, compare, measure, percentile, read_records, summary
from multi_agent.evaluation.question_set import AnswerType, Question

ARTICLES = ("Normans", "Force", "Warsaw")


@pytest.fixture
def beir(tmp_path: Path) -> Path:
    """Three articles with two questions of each kind, in the layout of the public sets."""
    queries: list[dict[str, Any]] = []
    qrels = ["query-id\tcorpus-id\tscore"]
    for article in ARTICLES:
        for number in range(4):
            name, answerable = f"{article}-{number}", number % 2 == 0
            answer = {"answers": [f"answer {name}"] * 2 if answerable else [], "answer": "yes" if number else "Rollo"}
            queries.append({"_id": name, "text": f"{name}?", "answerable": answerable, **answer})
            qrels += [f"{name}\t{article}#0\t1"] if answerable else []
    (tmp_path / "queries.jsonl").write_text("\n".join(map(json.dumps, queries)), encoding="utf-8")
    (tmp_path / "qrels").mkdir()
    (tmp_path / "qrels" / "test.tsv").write_text("\n".join(qrels), encoding="utf-8")
    return tmp_path


FILES = {f"{article}#0": f"{article}.md" for article in ARTICLES}


def test_squad_questions_alternate_in_kind_and_go_through_all_articles(beir: Path) -> None:
    questions = squad_questions(beir, FILES, 6)
    assert [each.answerable for each in questions] == [True, False] * 3
    assert {each.id.partition("-")[0] for each in questions} == set(ARTICLES)
    assert all(each.gold[0].document == FILES[f"{each.id.partition('-')[0]}#0"] for each in questions[::2])
    assert questions[0].accepted == (f"answer {questions[0].id}",)
    assert questions == squad_questions(beir, FILES, 12)[:6]


def test_hotpot_questions_compare_yes_and_no_by_type(beir: Path) -> None:
    answerable = [line for line in (beir / "queries.jsonl").read_text().splitlines() if json.loads(line)["answerable"]]
    (beir / "queries.jsonl").write_text("\n".join(answerable), encoding="utf-8")
    first, second = hotpot_questions(beir, FILES, 2)
    assert (first.type, second.type) == (AnswerType.TEXT, AnswerType.YES_NO)
    assert first.gold[0].document == "Normans.md"


def test_the_sample_questions_have_the_gold_of_the_sample_question_set() -> None:
    lines = (files("sample_docs") / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    known = [gold for line in lines for gold in json.loads(line)["gold"]]
    assert [each.type for each in SAMPLE_QUESTIONS].count(AnswerType.NONE) == 1
    for ours in (gold for each in SAMPLE_QUESTIONS for gold in each.gold):
        assert any(ours.quote in gold["quote"] and ours.document == gold["document"] for gold in known), ours


@pytest.mark.parametrize(
    ("question", "short", "text", "right"),
    [
        ({"accepted": ["Rollo"]}, "", "It was Rollo, the Viking.", True),
        ({"accepted": ["the Rollo"]}, "rollo", "Somebody.", True),
        ({"accepted": ["Rollo", "Hrólfr"]}, "Hrólfr", "", True),
        ({"accepted": ["6"]}, "", "It rises by 60 %.", False),
        ({"accepted": ["9,412"]}, "9412 heat pumps", "", True),
        ({"accepted": ["A 1", "B 2"], "type": "list"}, "", "B 2 and A 1", True),
        ({"accepted": ["A 1", "B 2"], "type": "list"}, "", "B 2", False),
        ({"accepted": ["no"], "type": "yes_no"}, "", "No, it is louder.", True),
        ({"accepted": ["no"], "type": "yes_no"}, "Yes", "No model is quieter.", False),
        ({"type": "none"}, "", "anything", False),
    ],
)
def test_an_answer_is_right_if_it_contains_an_accepted_one(
    question: dict[str, Any], short: str, text: str, right: bool
) -> None:
    assert is_right(Question(id="q", question="?", **question), short, text) is right


@pytest.mark.parametrize(
    ("text", "refusal"),
    [
        ("unanswerable", True),
        ("Unanswerable.", True),
        ("The passages do not mention the fourth quarter.", True),
        ("It is not stated.", True),
        ("", True),
        ("9,412", False),
        ("Nothing but the Tundra 9", False),
    ],
)
def test_a_free_text_that_does_not_know_is_a_refusal(text: str, refusal: bool) -> None:
    assert is_refusal(text) is refusal


@pytest.mark.parametrize(
    ("bodies", "status", "errors"),
    [
        ([], "answered", []),
        ([{"type": "plan_rejected"}, {"type": "plan_made"}], "insufficient", []),
        ([{"type": "plan_rejected"}], "failed", ["PlanError"]),
        ([{"type": "plan_rejected"}, {"type": "model_failed", "error_type": "LLMTimeout"}], "failed", ["LLMTimeout"]),
        (
            [
                {"type": "plan_made"},
                {"type": "model_failed", "error_type": "InvalidResponse"},
                {"type": "step_failed", "error_type": "InvalidResponse"},
            ],
            "insufficient",
            ["InvalidResponse"],
        ),
    ],
)
def test_errors_come_from_the_events(bodies: Sequence[dict[str, Any]], status: str, errors: list[str]) -> None:
    assert find_errors(bodies, status) == errors


def test_calls_are_counted_by_caller_and_without_cached_tokens_in_older_traces() -> None:
    usage = {"model_calls": 1, "prompt_tokens": 100, "completion_tokens": 5, "seconds": 1.0}
    bodies = [
        {"type": "model_called", "caller": "Reader", "usage": {**usage, "cached_tokens": 60}},
        {"type": "model_failed", "caller": "Reader", "usage": {**usage, "model_calls": 3}},
        {"type": "model_called", "caller": "Planner", "usage": usage},
        {"type": "run_finished", "usage": usage},
    ]
    assert count_calls(bodies) == {
        "Reader": {"calls": 4, "prompt": 200, "cached": 60, "completion": 10, "seconds": 2.0},
        "Planner": {"calls": 1, "prompt": 100, "cached": 0, "completion": 5, "seconds": 1.0},
    }


def test_rejected_plans_and_responses_are_counted() -> None:
    bodies = [
        {"type": "plan_rejected", "faults": ["two steps", "no agent"]},
        {"type": "model_called", "faults": ["no JSON"]},
        {"type": "model_failed", "faults": ["no JSON", "no JSON"]},
        {"type": "run_finished"},
    ]
    assert count_rejected(bodies) == 4


def _record(**changed: Any) -> dict[str, Any]:
    call = {"calls": 2, "prompt": 1000, "cached": 400, "completion": 50, "seconds": 3.0}
    quotes = [{"in_source": True, "precise": True}, {"in_source": True, "precise": False}]
    return {
        "system": "fast", "set": "squad", "id": "a", "answerable": True, "status": "answered", "right": True,
        "confidence": 0.91, "errors": [], "rejected": 1, "repairs": 2, "callers": {"Reader": call}, "cited": quotes,
        "seconds": 10.0, **changed,
    }  # fmt: skip


def test_figures_of_a_system() -> None:
    records = [
        _record(),
        _record(id="b", right=False, confidence=0.93),
        _record(id="c", status="insufficient", right=False, cited=[]),
        _record(id="d", answerable=False, status="insufficient", right=False, seconds=90.0),
        _record(id="e", answerable=False, status="failed", right=False, errors=["PlanError"]),
    ]
    figures = measure(records)
    assert figures["without schema failure"] == "4 of 5"
    assert figures["answerable: right"] == figures["… squad"] == "1 of 3"
    assert figures["answerable: wrong answer"] == figures["answerable: refused"] == "1 of 3"
    assert figures["unanswerable: refused"] == "1 of 2"
    assert (figures["citations in source"], figures["citations precise"]) == ("4 of 4", "2 of 4")
    assert (figures["prompt tokens"], figures["… of them cached"], figures["model calls"]) == ("1,000", "400", "2.0")
    assert (figures["seconds, median"], figures["seconds, p90"], figures["repairs"]) == ("10", "90", "10")
    assert calibrate(records) == {"0.9": "1 of 2"}
    assert "| Reader | 500 / 200 / 25; 10 |" in summary(records)


def test_a_comparison_is_over_the_questions_that_both_have() -> None:
    before = [_record(), _record(id="only before", right=False)]
    after = [_record(right=False), _record(system="plain")]
    table = compare(before, after)
    assert "fast, before | fast, after" in table
    assert "| questions | 1 | 1 |" in table
    assert "| answerable: right | 1 of 1 | 0 of 1 |" in table


def test_a_line_that_a_killed_run_left_unfinished_is_cut(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    assert read_records(tmp_path) == []
    complete = f"{json.dumps(_record())}\n"
    file.write_text(complete + '{"system": "fa', encoding="utf-8")
    assert [each["id"] for each in read_records(tmp_path)] == ["a"]
    assert file.read_text(encoding="utf-8") == complete


def test_percentile_is_the_nearest_rank() -> None:
    assert percentile([5, 1, 3], 0.9) == 5
    assert percentile(range(1, 11), 0.9) == 9
    assert percentile([7], 0.5) == 7
