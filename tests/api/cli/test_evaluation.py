"""`candor eval`, over a real HTTP endpoint with a scripted model."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from multi_agent.evaluation.question_set import Question, load_questions
from multi_agent.evaluation.store import Configuration, Evaluation, EvaluationResult, Row
from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.replies import Reply, Request, hang, wrap_in_prose
from support.scripted_endpoint import ScriptedEndpoint
from support.waiting import LIMIT_S, until

Serve = Callable[..., EndpointSettings]
QUESTIONS = [
    {"id": "cold", "question": "Down to what temperature does the Borea 12 work?", "accepted": ["-25 °C"],
     "gold": [{"document": "pumps.md", "quote": "works down to -25 °C"}], "tags": ["pumps"]},
    {"id": "soup", "question": "How long do the lentils boil?", "accepted": ["20"], "type": "number",
     "gold": [{"document": "soup.txt", "quote": "for 20 minutes"}], "tags": ["soup"]},
    {"id": "none", "question": "Who invented the heat pump?", "type": "none"},
]  # fmt: skip


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """A question set: two questions with an answer, one without."""
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS), encoding="utf-8")
    return path


def panel(request: Request) -> Reply | str:
    """Play a model that finds the fact about pumps and nothing else."""
    return Panel("-25 °C" if "temperature" in request.prompt else "@nothing")(request)


@pytest.mark.usefixtures("ingested")
def test_a_set_is_asked_and_measured(run: Any, serve: Serve, use_model: Any, questions: Path) -> None:
    use_model(serve(panel))
    result = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--json")
    assert result.code == 0, result.err
    [evaluated] = result.json["evaluations"]
    rows = {row["question_id"]: row for row in evaluated["rows"]}
    assert rows["cold"]["status"] == "answered", rows["cold"]["error"]
    assert rows["cold"]["place"] == "right"
    assert rows["cold"]["figures"]["citation_precision"] == 1
    assert rows["soup"]["place"] == "retrieved but not extracted"
    assert rows["none"]["figures"]["correct"] == 1
    figures = evaluated["summary"]["figures"]
    assert figures["correct"]["mean"] == pytest.approx(2 / 3)
    assert figures["correct"]["low"] < 2 / 3 < figures["correct"]["high"]
    shown = run("eval", "show", evaluated["evaluation"]["id"][:9])
    assert "correct" in shown.out
    assert "retrieved but not extracted 1" in shown.out


@pytest.mark.usefixtures("ingested")
def test_a_set_without_short_answers_says_that_correctness_is_not_counted(
    run: Any, serve: Serve, use_model: Any, tmp_path: Path
) -> None:
    use_model(serve(panel))
    (tmp_path / "set.csv").write_text("question,answer\nDown to which temperature does it work?,Down to -25 degrees.\n")
    result = run("eval", "run", tmp_path / "set.csv", "-c", "papers", "--mode", "fast")
    assert (result.code, "no question has `accepted`" in result.err) == (0, True)


@pytest.mark.usefixtures("ingested")
def test_two_configurations_are_compared_question_by_question(
    run: Any, serve: Serve, use_model: Any, questions: Path, tmp_path: Path
) -> None:
    use_model(serve(panel))
    (tmp_path / "few.toml").write_text('mode = "fast"\n[settings.research]\nreader_passages = 1\n')
    (tmp_path / "many.toml").write_text('mode = "fast"\n')
    both = ("--config", tmp_path / "few.toml", "--config", tmp_path / "many.toml")
    result = run("eval", "run", questions, "-c", "papers", *both, "--json")
    assert result.code == 0, result.err
    few, many = (each["evaluation"] for each in result.json["evaluations"])
    assert few["configuration"]["label"] == "few"
    assert few["configuration"]["settings"] == {"research": {"reader_passages": 1}}
    [comparison] = result.json["comparisons"]
    assert comparison["figures"]["correct"]["equal"] == 3
    again = run("eval", "compare", few["id"], many["id"])
    assert "many" in again.out
    assert "correct" in again.out
    worse = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--fail-if-worse-than", many["id"])
    assert worse.code == 0, worse.err


@pytest.mark.usefixtures("ingested")
def test_fail_if_decides_the_exit_code(run: Any, serve: Serve, use_model: Any, questions: Path) -> None:
    use_model(serve(panel))
    result = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--fail-if", "correct < 0.9")
    assert result.code == 1
    assert "correct < 0.9: correct is 0.6667" in result.err


@pytest.mark.usefixtures("ingested")
@pytest.mark.parametrize(
    ("condition", "message"),
    [
        (("--fail-if", "corect < 0.9"), "'corect'"),
        (("--fail-if", "correct is bad"), "Invalid condition"),
        (("--fail-if", "judged < 0.9"), "'judged'"),
        (("--fail-if-worse-than", "eval_gone"), "'eval_gone'"),
        (("--fail-if-worse-than", "eval_", "--figure", "corect"), "'corect'"),
        (("--fail-if-worse-than", "eval_", "--limit", "1"), "has different questions"),
    ],
)
def test_an_invalid_condition_fails_before_the_first_question(
    run: Any, serve: Serve, use_model: Any, make_candor: Any, questions: Path, condition: tuple[str, ...], message: str
) -> None:
    endpoint = ScriptedEndpoint(panel)
    with endpoint:
        use_model(endpoint.settings("openai"))
        earlier = graded("eval_1", {"cold": 1.0})
        earlier = earlier.model_copy(
            update={"evaluation": earlier.evaluation.model_copy(
                update={"fingerprint": load_questions(questions).fingerprint})}
        )  # fmt: skip
        make_candor().evaluations.store.add(earlier.evaluation, earlier.questions)
        refused = run("eval", "run", questions, "-c", "papers", "--mode", "fast", *condition)
    assert refused.code != 0
    assert message in refused.err
    assert not endpoint.requests


@pytest.mark.usefixtures("ingested")
def test_a_failed_question_counts_as_wrong(run: Any, serve: Serve, use_model: Any, questions: Path) -> None:
    def broken(request: Request) -> Reply | str:
        return Reply(status=400, text="no") if "lentils boil" in request.prompt else panel(request)

    use_model(serve(broken))
    result = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--json")
    rows = {row["question_id"]: row for row in result.json["evaluations"][0]["rows"]}
    assert rows["soup"]["status"] == "failed"
    assert rows["soup"]["place"] == "run failed"
    assert rows["soup"]["error"]
    assert rows["soup"]["figures"]["correct"] == 0


@pytest.mark.usefixtures("ingested")
def test_resuming_asks_the_questions_left_by_a_limit(run: Any, serve: Serve, use_model: Any, questions: Path) -> None:
    use_model(serve(panel))
    first = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--max-calls", "1", "--parallel", "1")
    assert first.code == 1
    assert "is not finished: 2 of 3 questions left. Resume with `candor eval resume eval_" in first.err
    assert "Gold that" not in first.err
    [known] = run("eval", "list", "--json").json
    assert known["state"] == "budget reached"
    second = run("eval", "resume", known["id"], "--json")
    assert second.code == 0, second.err
    assert len(second.json["evaluations"][0]["rows"]) == 3


@pytest.mark.usefixtures("ingested")
def test_missing_gold_is_reported_before_the_first_question(
    run: Any, serve: Serve, use_model: Any, tmp_path: Path
) -> None:
    use_model(serve(panel))
    misspelt = [{**QUESTIONS[0], "id": f"q{number}", "gold": [{"document": "pump.md"}]} for number in range(12)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, misspelt)), encoding="utf-8")
    result = run("eval", "run", tmp_path / "mine.jsonl", "-c", "papers", "--mode", "fast", "--max-calls", "1")
    warning = result.err[: result.err.index("eval_")]
    assert "no search can find them: 12" in warning
    assert "q0: unknown document 'pump.md'" in warning
    assert warning.rstrip().endswith("and 2 more")


@pytest.mark.usefixtures("ingested")
def test_an_interrupted_evaluation_says_how_to_resume(use_model: Any, questions: Path) -> None:
    asked: list[Request] = []

    def slow(request: Request) -> Reply | str:
        asked.append(request)
        return hang()

    with ScriptedEndpoint(slow) as endpoint:
        use_model(endpoint.settings("openai"))
        command = [sys.executable, "-m", "api.cli", "eval", "run", questions, "-c", "papers", "--mode", "fast"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ) as stopped:
            until(lambda: asked)
            stopped.send_signal(signal.SIGINT)
            _, message = stopped.communicate(timeout=LIMIT_S)
    assert stopped.returncode == 130
    assert b"3 of 3 questions left. Resume with `candor eval resume eval_" in message


def judged(request: Request) -> Reply | str:
    """Play the panel, and a judge that fails on the question about lentils."""
    if request.schema and request.schema["title"] == "Grade":
        if "lentils boil" in request.prompt:
            return Reply(status=400, text="no")
        return json.dumps({"comparison": "Both say the same.", "grade": "correct"})
    if request.schema and request.schema["title"] == "Verdicts":
        return json.dumps({"verdicts": [{"statement": 1, "reason": "", "support": "full"}]})
    return panel(request)


def chatty(request: Request) -> Reply | str:
    """Play the panel, with text around each response."""
    response = panel(request)
    return response if isinstance(response, Reply) else wrap_in_prose(response)


@pytest.mark.usefixtures("ingested")
def test_repairs_are_counted_and_exported(run: Any, serve: Serve, use_model: Any, questions: Path) -> None:
    use_model(serve(chatty))
    asked = ("eval", "run", questions, "-c", "papers", "--mode", "fast", "--limit", "1", "--json")
    [one] = run(*asked).json["evaluations"]
    [row] = one["rows"]
    assert row["status"] == "answered"
    assert row["figures"]["repairs"] == 2 * row["figures"]["model_calls"] > 0
    assert (row["figures"]["rejected_responses"], row["figures"]["schema_failure"]) == (0, 0)
    assert one["summary"]["figures"]["repairs"]["mean"] == row["figures"]["repairs"]
    assert "repairs" in run("eval", "show", one["evaluation"]["id"]).out
    assert "Faults of the model: repairs: 4" in run("trace", row["run_id"]).out
    assert run("trace", row["run_id"], "--json").json["faults"]["repairs"] == 4


@pytest.mark.usefixtures("ingested")
def test_usage_of_the_judge_counts_and_is_reported_separately(
    run: Any, serve: Serve, use_model: Any, questions: Path
) -> None:
    use_model(serve(judged))
    asked = ("eval", "run", questions, "-c", "papers", "--mode", "fast", "--parallel", "1")
    [one] = run(*asked, "--limit", "1", "--judge", "default", "--json").json["evaluations"]
    [row] = one["rows"]
    assert row["spent"]["model_calls"] == row["figures"]["model_calls"] == 2
    assert row["judging"]["model_calls"] == 2, "a grade, and whether the quotes support the claim"
    assert (one["summary"]["spent"], one["summary"]["judging"]) == (row["spent"], row["judging"])
    assert (
        "2 calls, 220 tokens by the answers, 2 calls, 220 tokens by the judge"
        in run("eval", "show", one["evaluation"]["id"]).out
    )

    [bounded] = run(*asked, "--max-calls", "4", "--judge", "default", "--json").json["evaluations"]
    assert len(bounded["rows"]) == 1
    [unjudged] = run(*asked, "--max-calls", "4", "--metric", "correct", "--json").json["evaluations"]
    assert len(unjudged["rows"]) == 2, "whatever is measured"
    again = run("eval", "resume", bounded["evaluation"]["id"], "--max-calls", "4", "--json").json["evaluations"]
    assert len(again[0]["rows"]) == 1, "usage before the resume counts, too"


@pytest.mark.usefixtures("ingested")
def test_errors_of_the_judge_are_counted_separately(run: Any, serve: Serve, use_model: Any, questions: Path) -> None:
    use_model(serve(judged))
    result = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--judge", "default", "--json")
    [evaluated] = result.json["evaluations"]
    assert evaluated["summary"]["errors"] == {"judge": 1}
    assert (
        evaluated["summary"]["figures"]["judged"] | {"mean": 1.0, "n": 2} == evaluated["summary"]["figures"]["judged"]
    )
    assert evaluated["summary"]["figures"]["claims_borne_out"]["mean"] == 1


@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("mode = 'fasst'", "mode"),
        ("[settings.store]\nurl = 'x'", "store"),
        ("[settings.research]\npasages = 3", "pasages"),
        ("[settings.llm]\napi_key = 'secret'", "CANDOR_LLM__API_KEY"),
        ("mode = ", "Cannot read"),
        ("endpoint = 'other'", "'other'"),
    ],
)
def test_an_invalid_configuration_is_rejected(
    run: Any, questions: Path, tmp_path: Path, toml: str, message: str
) -> None:
    (tmp_path / "wrong.toml").write_text(toml)
    result = run("eval", "run", questions, "-c", "papers", "--config", tmp_path / "wrong.toml")
    assert result.code in (1, 2)
    assert message in result.err
    assert "secret" not in result.err


@pytest.mark.usefixtures("ingested")
def test_a_killed_evaluation_resumes_with_equal_results(
    run: Any, use_model: Any, questions: Path, tmp_path: Path
) -> None:
    """The interrupted run resumes under its id, and finished model calls are not repeated."""
    asked: list[str] = []
    is_killed = threading.Event()

    def hang_at_the_ninth(request: Request) -> Reply | str:
        asked.append(json.dumps(request.messages))
        return hang() if len(asked) == 9 and not is_killed.is_set() else panel(request)

    with ScriptedEndpoint(hang_at_the_ninth) as endpoint:
        use_model(endpoint.settings("openai"))
        command = [sys.executable, "-m", "api.cli", "eval", "run", questions, "-c", "papers", "--mode", "high",
                   "--parallel", "1", "--json"]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ) as killed:
            until(lambda: len(asked) == 9)
            killed.send_signal(signal.SIGKILL)
        is_killed.set()
        [unfinished] = run("eval", "list", "--json").json
        assert unfinished["state"] == "unfinished"
        before = len(asked)
        resumed = run("eval", "resume", unfinished["id"], "--parallel", "1", "--json").json["evaluations"][0]
        after = len(asked) - before
        whole = run("eval", "run", questions, "-c", "papers", "--mode", "high", "--parallel", "1", "--json")
        undisturbed = whole.json["evaluations"][0]
        calls = len(asked) - before - after

    def without_timing(evaluated: Any) -> list[Any]:
        spent = {"seconds"}
        return [
            (row["question_id"], row["status"], row["said"], row["place"],
             {name: value for name, value in row["figures"].items() if name not in spent})
            for row in evaluated["rows"]
        ]  # fmt: skip

    assert without_timing(resumed) == without_timing(undisturbed)
    assert before + after <= calls + 1  # at most the interrupted call is made twice


@pytest.mark.usefixtures("ingested")
def test_markup_in_evaluations_is_printed_literally(run: Any, make_candor: Any) -> None:
    store = make_candor().evaluations.store
    for name, value in (("eval_1", 1.0), ("eval_2", 0.0)):
        made = graded(name, {"[/b] one": value})
        rows = tuple(row.model_copy(update={"error": "see [llm] in candor.toml"}) for row in made.rows)
        store.add(made.evaluation, made.questions)
        for row in rows:
            store.put(name, row)
    assert "[/b] one: answered: see [llm] in candor.toml" in run("eval", "show", "eval_1").out
    assert "judged went down: [/b] one" in run("eval", "compare", "eval_1", "eval_2").out


def graded(evaluation_id: str, grades: dict[str, float]) -> EvaluationResult:
    """Return an evaluation with these grades."""
    evaluation = Evaluation(
        id=evaluation_id, set_name="mine", fingerprint="f", collection="papers",
        configuration=Configuration(label="x", model="m"), metrics=("judge",), started_at=datetime.now(UTC),
    )  # fmt: skip
    questions = tuple(Question(id=each, question="?") for each in grades)
    rows = (Row(question_id=each, run_id="r", status="answered", figures={"judged": by}) for each, by in grades.items())
    return EvaluationResult(evaluation=evaluation, questions=questions, rows=tuple(rows))
