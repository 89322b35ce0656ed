"""`candor eval` from the command line: asked over a real endpoint, measured, resumed, compared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from api.services.evaluations import store_of
from multi_agent.evaluation.question_set import Question, load_questions
from multi_agent.evaluation.records import Configuration, Evaluation, EvaluationResult, Row
from multi_agent.llm.settings import EndpointSettings
from support.panel import PLANNER, Panel, planned, reading, role_of
from support.scripted_endpoint import Reply, Request, ScriptedEndpoint, hang

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
    """Two questions with an answer, and one without."""
    path = tmp_path / "questions.jsonl"
    path.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS), encoding="utf-8")
    return path


@pytest.fixture
def ingested(run: Any, folder: Path) -> None:
    """The two small documents."""
    assert run("ingest", folder, "-c", "papers").code == 0


def panel(request: Request) -> Reply | str:
    """Finds the one fact about pumps, and nothing else."""
    if role_of(request) == PLANNER and request.schema and request.schema["properties"]["mode"].get("const") == "fast":
        asked = next(each["question"] for each in QUESTIONS if str(each["question"]) in request.prompt)
        fast = json.dumps(planned(reading("answer", str(asked), final=True), mode="fast"))
        return Panel(roles={PLANNER: lambda _: fast})(request)
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
def test_what_ci_demands_decides_the_exit_code(run: Any, serve: Serve, use_model: Any, questions: Path) -> None:
    use_model(serve(panel))
    result = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--fail-if", "correct < 0.9")
    assert result.code == 1
    assert "correct < 0.9: correct is 0.6667" in result.err


@pytest.mark.usefixtures("ingested")
@pytest.mark.parametrize(
    ("demand", "said"),
    [
        (("--fail-if", "corect < 0.9"), "'corect'"),
        (("--fail-if", "correct is bad"), "is no condition"),
        (("--fail-if", "judged < 0.9"), "'judged'"),
        (("--fail-if-worse-than", "eval_gone"), "'eval_gone'"),
        (("--fail-if-worse-than", "eval_", "--figure", "corect"), "'corect'"),
        (("--fail-if-worse-than", "eval_", "--limit", "1"), "was asked other questions"),
    ],
)
def test_a_demand_that_cannot_be_met_is_told_before_the_first_question(
    run: Any, serve: Serve, use_model: Any, make_candor: Any, questions: Path, demand: tuple[str, ...], said: str
) -> None:
    endpoint = ScriptedEndpoint(panel)
    with endpoint:
        use_model(endpoint.settings("openai"))
        earlier = graded("eval_1", {"cold": 1.0})
        earlier = earlier.model_copy(
            update={"evaluation": earlier.evaluation.model_copy(
                update={"fingerprint": load_questions(questions).fingerprint})}
        )  # fmt: skip
        store_of(make_candor()).add(earlier.evaluation, earlier.questions)
        refused = run("eval", "run", questions, "-c", "papers", "--mode", "fast", *demand)
    assert refused.code != 0
    assert said in refused.err
    assert not endpoint.requests


@pytest.mark.usefixtures("ingested")
def test_a_question_that_fails_is_a_row_and_counts_as_wrong(
    run: Any, serve: Serve, use_model: Any, questions: Path
) -> None:
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
def test_a_budget_leaves_questions_over_and_resuming_asks_them(
    run: Any, serve: Serve, use_model: Any, questions: Path
) -> None:
    use_model(serve(panel))
    first = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--max-calls", "1", "--parallel", "1")
    assert first.code == 1
    assert "is not finished: 2 of 3 questions are left. Resume with `candor eval resume eval_" in first.err
    assert "Gold that" not in first.err
    [known] = run("eval", "list", "--json").json
    assert known["state"] == "budget reached"
    second = run("eval", "resume", known["id"], "--json")
    assert second.code == 0, second.err
    assert len(second.json["evaluations"][0]["rows"]) == 3


@pytest.mark.usefixtures("ingested")
def test_gold_that_nobody_can_find_is_told_before_the_first_question(
    run: Any, serve: Serve, use_model: Any, tmp_path: Path
) -> None:
    use_model(serve(panel))
    misspelt = [{**QUESTIONS[0], "id": f"q{number}", "gold": [{"document": "pump.md"}]} for number in range(12)]
    (tmp_path / "mine.jsonl").write_text("\n".join(map(json.dumps, misspelt)), encoding="utf-8")
    result = run("eval", "run", tmp_path / "mine.jsonl", "-c", "papers", "--mode", "fast", "--max-calls", "1")
    told = result.err[: result.err.index("eval_")]
    assert "no search can find them: 12" in told
    assert "q0: there is no document 'pump.md'" in told
    assert told.rstrip().endswith("and 2 more")


@pytest.mark.usefixtures("ingested")
def test_one_that_is_interrupted_says_how_it_is_gone_on_with(use_model: Any, questions: Path) -> None:
    asked: list[Request] = []

    def slow(request: Request) -> Reply | str:
        asked.append(request)
        return hang()

    with ScriptedEndpoint(slow) as endpoint:
        use_model(endpoint.settings("openai"))
        command = [sys.executable, "-m", "api.cli", "eval", "run", questions, "-c", "papers", "--mode", "fast"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, env=os.environ) as stopped:
            deadline = time.monotonic() + 60
            while not asked and time.monotonic() < deadline:
                time.sleep(0.05)
            stopped.send_signal(signal.SIGINT)
            _, said = stopped.communicate(timeout=30)
    assert stopped.returncode == 130
    assert b"3 of 3 questions are left. Resume with `candor eval resume eval_" in said


def judged(request: Request) -> Reply | str:
    """The panel, and a judge who cannot be asked about lentils."""
    if request.schema and request.schema["title"] == "Grade":
        if "lentils boil" in request.prompt:
            return Reply(status=400, text="no")
        return json.dumps({"comparison": "Both say the same.", "grade": "correct"})
    if request.schema and request.schema["title"] == "Verdicts":
        return json.dumps({"verdicts": [{"statement": 1, "reason": "", "support": "full"}]})
    return panel(request)


@pytest.mark.usefixtures("ingested")
def test_what_the_judge_spends_counts_in_the_budget_and_is_told_apart(
    run: Any, serve: Serve, use_model: Any, questions: Path
) -> None:
    use_model(serve(judged))
    asked = ("eval", "run", questions, "-c", "papers", "--mode", "fast", "--parallel", "1")
    [one] = run(*asked, "--limit", "1", "--judge", "default", "--json").json["evaluations"]
    [row] = one["rows"]
    assert row["spent"]["model_calls"] == row["figures"]["model_calls"] == 2
    assert row["judging"]["model_calls"] == 2, "a grade, and whether the quotes bear the claim out"
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
    assert len(again[0]["rows"]) == 1, "what was spent before it was resumed counts, too"


@pytest.mark.usefixtures("ingested")
def test_a_judge_that_fails_is_counted_apart(run: Any, serve: Serve, use_model: Any, questions: Path) -> None:
    use_model(serve(judged))
    result = run("eval", "run", questions, "-c", "papers", "--mode", "fast", "--judge", "default", "--json")
    [evaluated] = result.json["evaluations"]
    assert evaluated["summary"]["errors"] == {"judge": 1}
    assert (
        evaluated["summary"]["figures"]["judged"] | {"mean": 1.0, "n": 2} == evaluated["summary"]["figures"]["judged"]
    )
    assert evaluated["summary"]["figures"]["claims_borne_out"]["mean"] == 1


def test_a_set_to_start_from_can_be_run(run: Any, tmp_path: Path) -> None:
    for name in ("mine.jsonl", "mine.csv"):
        assert run("eval", "init", tmp_path / name).code == 0
    assert load_questions(tmp_path / "mine.csv").questions == load_questions(tmp_path / "mine.jsonl").questions
    again = run("eval", "init", tmp_path / "mine.csv")
    assert again.code == 2
    assert "exists" in again.err


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ("mode = 'fasst'", "mode"),
        ("[settings.store]\nurl = 'x'", "store"),
        ("[settings.research]\npasages = 3", "pasages"),
        ("[settings.llm]\napi_key = 'secret'", "CANDOR_LLM__API_KEY"),
        ("mode = ", "cannot be read"),
        ("endpoint = 'other'", "'other'"),
    ],
)
def test_a_configuration_that_cannot_be_run_is_told_before(
    run: Any, questions: Path, tmp_path: Path, toml: str, said: str
) -> None:
    (tmp_path / "wrong.toml").write_text(toml)
    result = run("eval", "run", questions, "-c", "papers", "--config", tmp_path / "wrong.toml")
    assert result.code in (1, 2)
    assert said in result.err
    assert "secret" not in result.err


@pytest.mark.usefixtures("ingested")
def test_a_killed_evaluation_goes_on_and_equals_an_undisturbed_one(
    run: Any, use_model: Any, questions: Path, tmp_path: Path
) -> None:
    """Killed while a question is under way: it goes on under its run's id, and no answered call is made again."""
    asked: list[str] = []

    def slow(request: Request) -> Reply | str:
        asked.append(json.dumps(request.messages))
        said = panel(request)
        assert isinstance(said, str)
        return Reply(text=said, delay=0.4)

    with ScriptedEndpoint(slow) as endpoint:
        use_model(endpoint.settings("openai"))
        command = [sys.executable, "-m", "api.cli", "eval", "run", questions, "-c", "papers", "--mode", "high",
                   "--parallel", "1", "--json"]  # fmt: skip
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=os.environ) as killed:
            deadline = time.monotonic() + 60
            while len(asked) < 9 and time.monotonic() < deadline:
                time.sleep(0.05)
            killed.send_signal(signal.SIGKILL)
        assert len(asked) >= 9
        [unfinished] = run("eval", "list", "--json").json
        assert unfinished["state"] == "unfinished"
        before = len(asked)
        resumed = run("eval", "resume", unfinished["id"], "--parallel", "1", "--json").json["evaluations"][0]
        after = len(asked) - before
        whole = run("eval", "run", questions, "-c", "papers", "--mode", "high", "--parallel", "1", "--json")
        undisturbed = whole.json["evaluations"][0]
        calls = len(asked) - before - after

    def told(evaluated: Any) -> list[Any]:
        spent = {"seconds"}
        return [
            (row["question_id"], row["status"], row["said"], row["place"],
             {name: value for name, value in row["figures"].items() if name not in spent})
            for row in evaluated["rows"]
        ]  # fmt: skip

    assert told(resumed) == told(undisturbed)
    assert before + after <= calls + 1  # at most the one call that was under way was made twice


@pytest.mark.usefixtures("ingested")
def test_a_model_proposes_questions_whose_quotes_are_checked(
    run: Any, serve: Serve, use_model: Any, tmp_path: Path
) -> None:
    """One quote is right at once, the other passage is said to hold nothing."""
    asked: list[str] = []

    def drafter(request: Request) -> str:
        asked.append(request.prompt)
        cold = "Borea" in request.prompt
        quote = "works down to -25 °C" if len(request.messages) > 2 else "works at -25 degrees"
        known = {
            "question": "Down to what?",
            "answer": "-25 °C.",
            "accepted": ["-25 °C"],
            "type": "text",
            "quote": quote,
        }
        nothing = {"question": "", "answer": "", "accepted": [], "type": "text", "quote": ""}
        return json.dumps({"worth_asking": cold, **(known if cold else nothing)})

    use_model(serve(drafter))
    drafts = tmp_path / "drafts.jsonl"
    result = run("eval", "draft", drafts, "-c", "papers", "--count", "2")
    assert result.code == 0, result.err
    assert "nothing worth asking in soup.txt" in result.err
    assert sum("does not stand in the passage" in prompt for prompt in asked) == 1
    [question] = load_questions(drafts).questions
    assert question.gold[0].quote == "works down to -25 °C"
    assert question.tags == ("draft",)
    told = run("eval", "run", drafts, "-c", "papers", "--mode", "fast", "--max-calls", "1")
    assert "1 of 1 questions are unreviewed drafts" in told.err
    assert run("eval", "draft", drafts, "-c", "papers").code == 2


@pytest.mark.usefixtures("ingested")
def test_drafts_are_kept_as_they_come_and_nothing_is_asked_for_a_file_that_cannot_be_written(
    run: Any, serve: Serve, use_model: Any, tmp_path: Path
) -> None:
    asked: list[str] = []

    def drafter(request: Request) -> Reply | str:
        asked.append(request.prompt)
        if len(asked) > 1:
            return Reply(status=400, text="no")
        line = next(each for each in ("works down to -25 °C", "for 20 minutes") if each in request.prompt)
        return json.dumps({"worth_asking": True, "question": "How?", "answer": line, "accepted": [line],
                           "type": "text", "quote": line})  # fmt: skip

    use_model(serve(drafter))
    assert run("eval", "draft", tmp_path / "gone" / "drafts.jsonl", "-c", "papers").code == 2
    assert not asked
    drafts = tmp_path / "drafts.jsonl"
    assert run("eval", "draft", drafts, "-c", "papers", "--count", "2").code == 1
    assert len(load_questions(drafts).questions) == 1
    none = run("eval", "draft", tmp_path / "none.jsonl", "-c", "papers", "--count", "2")
    assert none.code == 1
    assert not (tmp_path / "none.jsonl").exists()


@pytest.mark.usefixtures("ingested")
def test_what_looks_like_markup_is_shown_as_it_stands(run: Any, make_candor: Any) -> None:
    store = store_of(make_candor())
    for name, value in (("eval_1", 1.0), ("eval_2", 0.0)):
        made = graded(name, {"[/b] one": value})
        rows = tuple(row.model_copy(update={"error": "see [llm] in candor.toml"}) for row in made.rows)
        store.add(made.evaluation, made.questions)
        for row in rows:
            store.put(name, row)
    assert "[/b] one: answered: see [llm] in candor.toml" in run("eval", "show", "eval_1").out
    assert "judged went down: [/b] one" in run("eval", "compare", "eval_1", "eval_2").out


def test_a_judge_is_held_against_a_person(run: Any, make_candor: Any, tmp_path: Path) -> None:
    candor = make_candor()
    known = graded("eval_1", {"a": 1.0, "b": 1.0, "c": 0.0})
    store_of(candor).add(known.evaluation, known.questions)
    for row in known.rows:
        store_of(candor).put("eval_1", row)
    labels = tmp_path / "labels.csv"
    labels.write_text("id,grade\na,1\nb,0\nc,0\n")
    result = run("eval", "calibrate", "eval_1", labels, "--json")
    assert result.json["agreement"]["mean"] == pytest.approx(2 / 3)
    assert result.json["too_kind"] == 1
    labels.write_text("id;grade\na;1\nb;0,5\nc;\n")  # a spreadsheet's, in which one is not graded yet
    assert run("eval", "calibrate", "eval_1", labels, "--json").json["agreement"]["n"] == 2
    for wrong, said in (("question,grade\na,1\n", "'id'"), ("id,grade\na,5\n", "'5'"), ("id,label\na,1\n", "'grade'")):
        labels.write_text(wrong)
        refused = run("eval", "calibrate", "eval_1", labels)
        assert refused.code == 2
        assert said in refused.err


def graded(evaluation_id: str, grades: dict[str, float]) -> EvaluationResult:
    """An evaluation with these grades."""
    evaluation = Evaluation(
        id=evaluation_id, set_name="mine", fingerprint="f", collection="papers",
        configuration=Configuration(label="x", model="m"), metrics=("judge",), started_at=datetime.now(UTC),
    )  # fmt: skip
    questions = tuple(Question(id=each, question="?") for each in grades)
    rows = (Row(question_id=each, run_id="r", status="answered", figures={"judged": by}) for each, by in grades.items())
    return EvaluationResult(evaluation=evaluation, questions=questions, rows=tuple(rows))
