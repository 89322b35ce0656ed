"""Commands end to end: results on standard output, messages on standard error, exit codes."""

from __future__ import annotations

import io
import os
import re
import signal
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from api.bootstrap import Candor
from api.cli.ingest import describe, run_ingest
from ingest.errors import IngestUnderWay
from ingest.ledger.lock import ingest_lock
from ingest.ledger.records import Stage
from ingest.pipeline.tally import Progress
from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.qdrant import memory_store
from support.waiting import LIMIT_S

ROOT = Path(__file__).parents[3]
QUESTION = "Down to which temperature does the Borea 12 work?"


def test_a_folder_is_ingested_searched_asked_and_explained(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))

    ingested = run("ingest", folder, "--collection", "papers", "--json")
    assert (ingested.code, ingested.json["indexed"]) == (0, 2)

    found = run("search", "cold weather operation", "-c", "papers", "--json")
    assert found.code == 0
    assert {hit["name"] for hit in found.json} == {"pumps.md", "soup.txt"}

    asked = run("ask", QUESTION, "--json")
    answer = asked.json
    assert (asked.code, answer["status"]) == (0, "answered")
    [item] = answer["evidence"]
    assert (item["document"], item["section"]) == ("pumps.md", ["Limits"]), "a name, no path of this machine"

    shown = run("show", item["document_id"], "--text")
    assert shown.out[item["start"] : item["end"]] == item["quote"] == "The Borea 12 works down to -25 °C."

    traced = run("trace", answer["run_id"])
    assert "QueryPlanner explains" in traced.out
    assert "· It says so: " in traced.out, "the event of the claim"
    assert "run finished: answered" in traced.out
    full = run("trace", answer["run_id"], "--prompts", "--json").json
    assert len(full["calls"]) == answer["usage"]["model_calls"] == 7

    [listed] = run("runs", "--json").json
    assert (listed["run_id"], listed["question"]) == (answer["run_id"], QUESTION)


def test_the_answer_has_the_documented_keys(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    answer = run("ask", QUESTION, "--json").json
    assert list(answer) == [
        "run_id", "status", "mode", "question", "completed_question", "added", "answer", "claims", "evidence", "short",
        "nearest", "parts", "clarification", "records", "computations", "on_the_way", "confidence", "basis",
        "reasoning", "checks", "looked_for", "found", "missing", "votes", "contradictions", "searched", "sections",
        "coverage", "summary", "usage",
    ]  # fmt: skip
    assert list(answer["claims"][0]) == [
        "text", "evidence", "computations", "supported", "pictured", "verdict", "stands", "checked",
    ]  # fmt: skip
    assert list(answer["evidence"][0]) == [
        "number", "document", "document_id", "chunk_id", "pages", "section", "start", "end", "quote", "picture",
        "origin", "dated",
    ]  # fmt: skip
    assert list(answer["coverage"]) == [
        "documents_considered", "documents_total", "chunks_considered", "chunks_total", "scanned", "partial",
        "warnings", "unread",
    ]  # fmt: skip
    assert list(answer["usage"]) == [
        "model_calls", "prompt_tokens", "cached_tokens", "completion_tokens", "seconds", "cost",
    ]  # fmt: skip


def test_options_choose_the_mode_and_the_limits(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    assert run("ask", QUESTION, "--mode", "fast", "--json").json["mode"] == "fast"
    asked = run("ask", QUESTION, "--agent", "Reader", "--json").json
    assert (asked["mode"], asked["usage"]["model_calls"]) == ("direct", 1)
    bounded = run("ask", QUESTION, "--max-calls", "1")
    assert bounded.code == 0
    assert bounded.out.startswith("Insufficient")
    assert "The run's budget of model calls is reached: 1 made" in bounded.out
    for wrong in ("--mode slow", "--max-cost -1", "--mode direct", "--agent Reader --mode fast"):
        refused = run("ask", QUESTION, *wrong.split())
        assert refused.code == 2, wrong
    assert "auto" in run("ask", QUESTION, "--mode", "slow").err


def test_the_plan_of_a_run_is_saved_used_and_deleted(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    first = run("ask", QUESTION, "--json").json
    assert run("plans", "save", "thorough", first["run_id"], "--no-model").code == 0
    [kept] = run("plans", "--json").json
    assert (kept["name"], kept["question"], len(kept["plan"]["steps"])) == ("thorough", QUESTION, 6)
    again = run("ask", "What does the manual say?", "--plan", "thorough", "--json").json
    assert (again["status"], again["summary"]["steps_completed"]) == ("answered", 6)
    assert "already a plan 'thorough'" in run("plans", "save", "thorough", first["run_id"], "--yes").err.lower()
    assert run("plans", "delete", "thorough").code == 0
    assert run("plans", "--json").json == []
    refused = run("ask", QUESTION, "--plan", "thorough")
    assert (refused.code, "'thorough'" in refused.err) == (1, True)


def test_an_answer_is_printed_with_its_evidence(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    asked = run("ask", QUESTION)
    status, *lines, source, more = asked.out.splitlines()
    answer = " ".join(line.strip() for line in lines)
    assert status.startswith("Answered · ")
    assert answer == "It says so: pumps.md, Limits: The Borea 12 works down to -25 °C. [1] [not checked]"
    assert source == "[1] pumps.md, § Limits: “The Borea 12 works down to -25 °C.”"
    assert re.fullmatch(r"A quote on its page: candor show run_\S+ 1 · All steps: candor trace run_\S+", more)
    progress, hint = asked.err.splitlines()
    assert (progress, hint.startswith("`candor doctor`, or “Try it”")) == ("  Searching papers …", True)
    bare = run("ask", QUESTION, "-q")
    assert (bare.code, bare.out, bare.err) == (0, f"{answer}\n", "")


def test_verbose_prints_the_steps_and_all_evidence(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    asked = run("ask", QUESTION, "-v")
    assert "\n[1] pumps.md, § Limits\n    “The Borea 12 works down to -25 °C.”" in asked.out
    assert "\nSteps: 6 done, 0 skipped, 0 failed\n" in asked.out
    assert "Plan (high): QueryPlanner → Retriever" in asked.err
    drafted = asked.err.index("Not checked claim: It says so: ")
    assert asked.err.index("Synthesizer …") < drafted < asked.err.index("Synthesizer: ")


def test_markup_is_printed_literally(
    run: Callable, tmp_path: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    (tmp_path / "odd.txt").write_text("The value [bold]is[/bold] [/] <script>alert(1)</script> 7.\n")
    use_model(serve(Panel("value")))
    run("ingest", tmp_path / "odd.txt")
    assert "[bold]is[/bold] [/] <script>" in run("ask", "What is the value?").out
    assert "[bold]is[/bold] [/] <script>" in run("search", "value").out


def test_show_prints_facts_with_quotes_and_search_filters_by_them(run: Callable, tmp_path: Path) -> None:
    for name in ("Borea Inc.", "Zephyr Ltd."):
        (tmp_path / f"{name[0]}.txt").write_text(f"{name}\n\n" + f"{name} sells heat pumps for €1,200.\n\n" * 6)
    run("ingest", tmp_path / "B.txt", tmp_path / "Z.txt")
    shown = run("show", "B.txt").out
    assert "issuer  Borea Inc.  (rule)  Borea Inc.\n" in shown
    assert "currency  EUR  (rule)  Borea Inc. sells heat pumps for €1,200.\n" in shown
    assert run("show", "B.txt", "--json").json["facts"]["issuer"]["value"] == "Borea Inc."
    assert run("search", "zzz", "--mode", "words", "--json").json == []
    found = run("search", "heat pumps", "--where", "issuer=Zephyr Ltd.", "--where", "currency=EUR", "--json").json
    assert {hit["name"] for hit in found} == {"Z.txt"}
    refused = run("search", "heat pumps", "--where", "issuer")
    assert (refused.code, "NAME=VALUE" in refused.err) == (2, True)
    refused = run("search", "heat pumps", "--where", "nope=1")
    assert (refused.code, "has the field 'nope'" in refused.err, "currency, issuer" in refused.err) == (1, True, True)
    refused = run("search", "heat pumps", "--where", "currency=USD")
    assert (refused.code, "Values in the collection: EUR." in refused.err) == (1, True)


def test_unchanged_files_are_skipped_and_changed_ones_replaced(run: Callable, folder: Path) -> None:
    run("ingest", folder)
    (folder / "soup.txt").write_text("Boil the lentils for 25 minutes.\n")
    again = run("ingest", folder, "--json").json
    assert (again["indexed"], again["unchanged"]) == (1, 1)
    texts = [hit["text"] for hit in run("search", "lentils", "--json").json]
    assert not any("20 minutes" in text for text in texts)


def test_a_bad_file_does_not_stop_the_others(run: Callable, folder: Path) -> None:
    (folder / "broken.pdf").write_bytes(b"%PDF-1.7 this is no PDF")
    (folder / "empty.txt").touch()
    result = run("ingest", folder)
    assert result.code == 1
    assert "2 indexed, 0 unchanged, 2 failed" in result.err
    assert "broken.pdf" in result.err
    assert "empty.txt" in result.err
    failed = run("documents", "--state", "failed", "--json").json
    assert {document["name"] for document in failed} == {"broken.pdf", "empty.txt"}
    assert all(document["reason"] for document in failed)


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("ingest", "/no/such/folder"), 1, ["/no/such/folder", "does not exist"]),
        (("ask", "Why?"), 2, ["There is no collection yet", "candor ingest"]),
        (("ask", "Why?", "-c", "nowhere"), 1, ["nowhere"]),
        (("ask", "   "), 2, ["question is empty"]),
        (("search", ""), 2, ["query is empty"]),
        (("documents", "-c", "nowhere"), 1, ["nowhere"]),
        (("documents", "--state", "lost"), 2, ["'lost'", "indexed"]),
        (("trace", "run_none"), 1, ["run_none", "candor runs"]),
        (("demo", "--record", "x"), 2, ["--live"]),
        (("drop", "nowhere", "--yes"), 1, ["nowhere"]),
        (("search", "pump", "--since", "yesterday"), 2, ["'yesterday' is not a date", "2024-01-31, 2024-01 or 2024"]),
        (("search", "pump", "-contract"), 2, ["Write `-c ontract`", "'QUERY -contract'"]),
        (("ask", "Why?", "-c", "papers/2024"), 1, ["This is a path", "--folder"]),
        (("dance",), 2, ["dance"]),
        (("ask",), 2, ["QUESTION"]),
        (("ingest", ".", "-c", "bad/name"), 2, ["bad/name"]),
        (("ingest",), 2, ["--retry-failed"]),
        (("ingest", "--retry-failed", "--sync"), 2, ["--sync"]),
        (("ingest", ".", "--watch", "--dry-run"), 2, ["--watch"]),
        (("ingest", ".", "--ocr", "perhaps"), 2, ["perhaps", "never"]),
    ],
)
def test_wrong_use_has_a_message_and_an_exit_code(
    run: Callable, arguments: tuple[str, ...], code: int, words: list[str]
) -> None:
    result = run(*arguments)
    assert result.code == code, result.err
    assert result.out == ""
    for word in words:
        assert word.lower() in result.err.lower()
    assert "Traceback" not in result.err


class _Interrupted(io.StringIO):
    def readline(self, *_: object) -> str:
        raise KeyboardInterrupt


def test_ctrl_c_at_a_question_ends_with_130(run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run("ingest", folder)
    monkeypatch.setattr("sys.stdin", _Interrupted())
    assert run("drop", "papers").code == 130
    monkeypatch.setattr("sys.stdin", io.StringIO())
    assert run("drop", "papers").code == 1, "the end of the input is no confirmation"
    assert "There is no collection 'paper'" in run("drop", "paper").err, "said before the question"


def test_ctrl_c_while_the_commands_are_imported_ends_with_130(run: Callable, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("api.cli.main._command", interrupted)
    assert run("runs").code == 130


@pytest.mark.parametrize("entry", ["module", "script"])
def test_ctrl_c_before_the_first_import_ends_with_130(tmp_path: Path, entry: str) -> None:
    (tmp_path / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    script = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]["candor"]
    module, _, function = script.partition(":")
    start = ["-m", "api.cli"] if entry == "module" else ["-c", f"from {module} import {function}; {function}()"]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), str(ROOT)))}
    done = subprocess.run([sys.executable, "-P", *start, "runs"], env=variables, capture_output=True, timeout=LIMIT_S)
    assert (done.returncode, done.stderr) == (130, b"")


@pytest.mark.parametrize(
    ("command", "variable", "hint"),
    [
        (("drop", "paper", "--yes"), "", "Did you mean 'papers'?"),
        (("runs",), "CANDOR_LLM_MODEL", "Did you mean CANDOR_LLM__MODEL?"),
    ],
)
def test_near_names_are_named(
    run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch, command: tuple[str, ...], variable: str, hint: str
) -> None:
    run("ingest", folder)
    if variable:
        monkeypatch.setenv(variable, "x")
    assert hint in run(*command).err


def test_an_error_with_json_is_one_json_value(run: Callable) -> None:
    result = run("trace", "run_none", "--json")
    assert result.code == 1
    assert result.json["error"]["type"] == "RunNotFound"


def test_the_data_folder_is_not_ingested(run: Callable, folder: Path) -> None:
    home = folder / "home"
    first = run("ingest", folder, "--home", home, "--json").json
    again = run("ingest", folder, "--home", home, "--json").json
    assert (first["indexed"], again["unchanged"], again["failed"]) == (2, 2, [])
    assert "Candor's own data" in [each["reason"] for each in again["left_out"]]


def test_the_data_folder_stands_before_or_after_the_command(run: Callable, folder: Path, tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    assert run("--home", home, "ingest", folder, "-c", "papers", "--json").json["indexed"] == 2
    shown = [run(*words, "--json").json for words in (
        ("--home", home, "documents"), ("documents", "list", "--home", home),
        ("--home", tmp_path / "empty", "documents", "--home", home),
    )]  # fmt: skip
    assert [len(each) for each in shown] == [2, 2, 2]
    assert not (tmp_path / "empty").exists()
    assert "error" in run("documents", "--json").json


def test_only_a_command_that_stores_something_creates_the_named_data_folder(
    run: Callable, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wrong = tmp_path / "wrong"
    for words in ("documents",), ("search", "pump"), ("ask", "Why?"), ("runs",), ("show", "pumps.md"):
        refused = run(*words, "--home", wrong)
        assert (refused.code, f"no data folder '{wrong}'" in refused.err) == (2, True), words
    monkeypatch.setenv("CANDOR_HOME", str(wrong))
    assert "Check --home and CANDOR_HOME" in run("collections", "--json").json["error"]["message"]
    assert not wrong.exists()
    assert f"New data folder: {wrong}" in run("ingest", folder).err
    assert "data folder" not in run("ingest", folder).err
    assert run("documents").code == 0


def test_an_empty_folder_is_an_error(run: Callable, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    result = run("ingest", tmp_path / "empty")
    assert result.code == 1
    assert "no file to ingest" in result.err
    assert run("search", "anything").code == 2, "no collection was created"


def test_several_collections_need_a_name(run: Callable, folder: Path) -> None:
    run("ingest", folder, "-c", "one")
    run("ingest", folder, "-c", "two")
    result = run("search", "lentils")
    assert result.code == 2
    assert "one, two" in result.err


def test_dropping_a_collection_keeps_its_runs(
    run: Callable, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder)
    run_id = run("ask", QUESTION, "--json").json["run_id"]
    assert run("drop", "papers", "--yes", "--now").code == 0
    assert run("search", "lentils").code == 2
    assert run("trace", run_id).code == 0


def test_an_unreachable_endpoint_has_a_remedy(run: Callable, folder: Path, use_model: Callable) -> None:
    run("ingest", folder)
    use_model(EndpointSettings(provider="ollama", base_url="http://127.0.0.1:9"))
    result = run("ask", QUESTION, "--json")
    assert result.code == 1
    assert result.json["status"] == "failed"
    assert "ollama serve" in result.json["reasoning"]


def test_a_collection_of_another_embedding_model_is_rejected(
    run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", folder)
    monkeypatch.setenv("CANDOR_STORE__EMBEDDING__MODEL", "another/model")
    result = run("ask", QUESTION)
    assert result.code == 1
    assert "another/model" in result.err
    assert "candor ingest FOLDER --collection papers" in result.err


def test_a_locked_collection_names_its_process(run: Callable, folder: Path, tmp_path: Path) -> None:
    run("ingest", folder)
    holder = subprocess.Popen(
        [sys.executable, "-c", _HOLD, str(tmp_path / "home")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    result = run("search", "lentils")
    holder.communicate()
    assert result.code == 1
    assert str(holder.pid) in result.err
    assert run("search", "lentils").code == 0


_HOLD = """
import sys
from pathlib import Path
from vectorstore.edge.store import EdgeStore
with EdgeStore(Path(sys.argv[1]) / "collections").open("papers"):
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_dry_run_changes_nothing(run: Callable, folder: Path) -> None:
    plan = run("ingest", folder, "--dry-run", "--json").json
    assert [(each["file"]["name"], each["verdict"]) for each in plan["files"]] == [
        ("pumps.md", "new"), ("soup.txt", "new")
    ]  # fmt: skip
    assert run("search", "lentils").code == 2  # there is no collection
    run("ingest", folder)
    (folder / "soup.txt").unlink()
    plan_text = run("ingest", folder, "--dry-run", "--sync").err
    assert "to be removed: soup.txt" in plan_text
    assert len(run("documents", "--state", "indexed", "--json").json) == 2


def test_documents_are_removed_by_rm_and_by_sync(run: Callable, folder: Path) -> None:
    run("ingest", folder)
    assert run("documents", "remove", "soup.txt", "--json").json["name"] == "soup.txt", "another word for rm"
    assert "soup.txt: removed\n" in run("documents").out
    assert {hit["name"] for hit in run("search", "lentils", "--json").json} == {"pumps.md"}
    assert [each["name"] for each in run("documents", "--state", "removed", "--json").json] == ["soup.txt"]
    assert run("documents", "rm", "no such file").code == 1
    (folder / "pumps.md").unlink()
    assert "removed: pumps.md" in run("ingest", folder, "--sync").err
    assert [hit["name"] for hit in run("search", "lentils", "--json").json] == ["soup.txt"]


def test_failed_files_are_retried_only_on_request(run: Callable, folder: Path) -> None:
    broken = folder / "broken.pdf"
    broken.write_bytes(b"%PDF-1.7 this is no PDF")
    os.utime(broken, (1, 1))
    run("ingest", folder)
    again = run("ingest", folder)
    assert again.code == 1
    assert "--retry-failed" in again.err
    retried = run("ingest", "--retry-failed", "--json")
    assert retried.code == 1
    assert (retried.json["files"], retried.json["failed"][0]["attempts"]) == (1, 2)
    broken.unlink()
    assert run("ingest", folder, "--sync").code == 0
    assert run("ingest", "--retry-failed").code == 1  # nothing failed


def test_changed_settings_are_announced_before_reading(
    run: Callable, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("ingest", folder)
    monkeypatch.setenv("CANDOR_INGEST__CHUNK_TOKENS", "64")
    result = run("ingest", folder)
    assert result.code == 0
    assert "2 files are read again" in result.err
    assert "2 indexed" in result.err
    assert len(run("search", "lentils", "--json").json) == 2


def test_watching_ingests_again_when_a_file_changes(run: Callable, folder: Path) -> None:
    watching = subprocess.Popen(
        [sys.executable, "-m", "api.cli", "ingest", folder, "--watch"],
        stderr=subprocess.PIPE, text=True, env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[3])},
    )  # fmt: skip
    try:
        assert watching.stderr
        lines = iter(watching.stderr)
        next(line for line in lines if "Watching" in line)
        (folder / "new.md").write_text("# New\n\nJust written.\n")
        summary = next(line for line in lines if "1 indexed" in line)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(timeout=LIMIT_S) == 130
    finally:
        watching.kill()
    assert "2 unchanged" in summary
    assert {hit["name"] for hit in run("search", "written", "--json").json} >= {"new.md"}


def test_the_progress_shows_time_left_speed_and_failures() -> None:
    progress = Progress(
        name="pumps.pdf", stage=Stage.EMBEDDING, files_done=3, files_total=9, failed=1, chunks=40, tokens=6000,
        seconds=30.0, bytes_done=1000, bytes_total=4000, pages=7,
    )  # fmt: skip
    assert describe(progress) == (
        "1:30 left, 3 of 9 files, 7 pages, 40 passages, 200 tokens/s, 1 failed · embedding pumps.pdf"
    )
    assert "left" not in describe(progress.model_copy(update={"bytes_done": 0}))


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect in the local Qdrant")
def test_parallel_ingests_of_one_collection_are_rejected(make_candor: Callable[..., Candor], folder: Path) -> None:
    candor = make_candor()
    candor.store = memory_store()  # it has no locks of its own
    assert run_ingest(candor, [folder], "papers", progress=False).indexed == 2
    with ingest_lock(candor.engine, "papers"):
        for second in (
            lambda: run_ingest(make_candor(), [folder], "papers", progress=False),
            lambda: candor.collections.drop("papers"),
        ):
            with pytest.raises(IngestUnderWay, match="'papers' is being changed by process"):
                second()
    assert run_ingest(candor, [folder], "papers", progress=False).unchanged == 2


def test_a_terminal_that_is_not_utf_8_gets_unknown_characters_escaped(tmp_path: Path) -> None:
    given = {**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    command = [sys.executable, "-m", "api.cli", "ingest", "€.txt", "--home", str(tmp_path / "home")]
    done = subprocess.run(command, env=given, capture_output=True, check=False, timeout=LIMIT_S)
    assert b"Traceback" not in done.stderr
    assert rb"\u20ac.txt" in done.stderr
    utf_8 = {**os.environ, "PYTHONUTF8": "1"}
    for words, name in ((("search",), b"query"), (("trace",), rb"argument 'k\udce4lte'")):
        typed = [sys.executable, "-m", "api.cli", *words, b"k\xe4lte", "--home", str(tmp_path / "home")]
        done = subprocess.run(typed, env=utf_8, capture_output=True, check=False)
        assert (done.returncode, done.stderr.splitlines()[-1]) == (
            2, b"candor: The %b is not written in utf-8. Set the terminal and the locale to UTF-8." % name
        )  # fmt: skip


def test_a_command_is_built_when_it_is_used() -> None:
    """Building all commands takes most of the time of `candor --help`."""
    script = (
        "import sys; from api.cli import main; from typer import main as typer_main\n"
        "built = []; build = typer_main.get_command_from_info\n"
        "def note(info, **options): built.append(info.callback.__name__); return build(info, **options)\n"
        "main.get_command_from_info = note\n"
        "sys.argv = ['candor', 'runs', 'cancel', '--help']\n"
        "try: main.main()\n"
        "except SystemExit: print(built, file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "['cancel']"
    assert "candor runs cancel" in done.stdout


def test_a_search_loads_only_what_it_needs(run: Callable, folder: Path) -> None:
    assert run("ingest", folder, "--collection", "papers").code == 0
    script = "import sys; from api.cli.main import main; sys.argv = ['candor', 'search', 'soup']\nmain()\n"
    show = "import atexit, sys; atexit.register(lambda: print(*sys.modules, file=sys.stderr))\n"
    done = subprocess.run([sys.executable, "-c", show + script], capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())
    assert "vectorstore.retrieval" in loaded
    unwanted = {"multi_agent.orchestrator.orchestrator", "api.services.documents.ingest", "multi_agent.memory.memories"}
    unwanted |= {"multi_agent.tables.values", "py3langid.langid"}
    assert not loaded & unwanted
