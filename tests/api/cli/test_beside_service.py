"""Commands while ``candor serve``, in its own process, has the collection open."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from api.bootstrap import Candor
from api.settings import load_settings
from ingest.ledger.lock import ingest_lock
from support.panel import Panel
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, ServiceProcess
from support.waiting import LIMIT_S, until

HOLDING = ("search", "lentils", "--collection", "papers", "--json")
QUESTIONS = [
    {"id": "cold", "question": QUESTION, "accepted": ["-25 °C"],
     "gold": [{"document": "pumps.md", "quote": "works down to -25 °C"}]},
]  # fmt: skip

_VARYING = re.compile(
    r"(?m)(run|eval)_[0-9a-f]+|\d+(\.\d+)? ?m?s\b|\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"
    r'|^ *seconds .*$|"seconds": [0-9.e-]+|"(total|median|p95)(_seconds)?": [0-9.e-]+|[0-9a-f]{8}-[0-9a-f-]{27}'
)


@pytest.fixture(scope="module")
def endpoint() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint(Panel("-25 °C")) as running:
        yield running


@pytest.fixture(scope="module")
def shared_service(endpoint: ScriptedEndpoint, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceProcess]:
    """A service on a home of its own, which may ingest from everywhere. It runs research in its own process."""
    home = tmp_path_factory.mktemp("home")
    environment = {"CANDOR_SERVICE__INGEST_ROOTS": '["/"]', "CANDOR_SERVICE__RESEARCH_PROCESS": "false"}
    with ServiceProcess(home, **environment) as running:
        yield running


@pytest.fixture
def service(
    run: Any, shared_service: ServiceProcess, endpoint: ScriptedEndpoint, use_model: Any, folder: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> ServiceProcess:  # fmt: skip
    """The service, with two documents in ``papers``, which it has open."""
    monkeypatch.setenv("CANDOR_HOME", str(shared_service.home))
    use_model(endpoint.settings("openai"))
    shared_service.http.delete("/v1/collections/papers?now=true")
    assert run("ingest", folder, "-c", "papers").code == 0
    assert names(shared_service, "lentils") == {"soup.txt", "pumps.md"}
    return shared_service


def names(service: ServiceProcess, query: str, collection: str = "papers") -> set[str]:
    """Return the documents that the service finds."""
    response = service.http.post("/v1/search", json={"query": query, "collection": collection})
    assert response.status_code == 200, response.text
    return {hit["name"] for hit in response.json()}


def fixed(output: str) -> str:
    """Return output without ids, dates and durations, and without the width of columns, which durations change."""
    return re.sub(r" +", " ", _VARYING.sub("…", output))


def test_the_output_is_the_same_as_without_the_service(
    run: Any, endpoint: ScriptedEndpoint, use_model: Any, folder: Path, tmp_path: Path
) -> None:
    use_model(endpoint.settings("openai"))
    assert run("ingest", folder, "-c", "papers").code == 0
    questions = tmp_path / "questions.jsonl"
    questions.write_text("".join(json.dumps(each) + "\n" for each in QUESTIONS), encoding="utf-8")
    commands = [
        ("search", "how cold may it be", "-c", "papers"),
        ("search", "how cold may it be", "-c", "papers", "--json"),
        ("search", "lentils", "-c", "nothing"),
        ("ask", QUESTION, "-c", "papers"),
        ("documents", "-c", "papers"),
        ("show", "pumps.md", "--text"),
        ("eval", "run", questions, "-c", "papers", "--mode", "fast", "--fail-if", "correct < 0.9"),
    ]
    alone = [run(*command) for command in commands]
    with ServiceProcess(tmp_path / "home", CANDOR_SERVICE__RESEARCH_PROCESS="false") as service:
        assert names(service, "lentils")
        beside = [run(*command) for command in commands]
    for command, before, after in zip(commands, alone, beside, strict=True):
        assert before.code == after.code, (command, after.err)
        assert fixed(before.out) == fixed(after.out), command
        if command[0] != "ask":  # which reports slow calls of the model there
            assert fixed(before.err) == fixed(after.err), command
    assert [result.code for result in beside] == [0, 0, 1, 0, 0, 0, 0]


def test_a_run_of_a_command_is_shown_by_the_service(run: Any, service: ServiceProcess) -> None:
    answer = run("ask", QUESTION, "--json").json
    assert answer["status"] == "answered"
    shown = service.http.get(f"/v1/runs/{answer['run_id']}").json()
    assert (shown["run"]["status"], shown["answer"]["answer"]) == ("answered", answer["answer"])


def test_the_service_finds_what_commands_change(run: Any, service: ServiceProcess, folder: Path) -> None:
    (folder / "tee.md").write_text("Grüner Tee zieht zwei Minuten, schwarzer Tee vier. Das Wasser darf nicht kochen.\n")
    ingested = run("ingest", folder, "-c", "papers")
    assert ingested.code == 0, ingested.err
    assert "tee.md" in names(service, "Grüner Tee")
    (folder / "tee.md").write_text("Kaffee wird frisch gemahlen und mit heißem Wasser übergossen.\n")
    assert run("ingest", folder, "-c", "papers").code == 0
    [hit] = service.http.post("/v1/search", json={"query": "Kaffee", "collection": "papers", "limit": 1}).json()
    assert "Kaffee" in hit["text"]
    assert run("documents", "rm", "tee.md").code == 0
    assert "tee.md" not in names(service, "Kaffee")
    purged = run("documents", "purge", "-c", "papers")
    assert purged.code == 0, purged.err
    assert names(service, "lentils") == {"soup.txt", "pumps.md"}
    store = service.home / "collections"
    assert not any(b"frisch gemahlen" in path.read_bytes() for path in store.rglob("*") if path.is_file())


def test_a_dropped_collection_is_gone_and_can_be_made_again(run: Any, service: ServiceProcess, folder: Path) -> None:
    dropped = run("drop", "papers", "--yes", "--now")
    assert dropped.code == 0, dropped.err
    gone = service.http.post("/v1/search", json={"query": "lentils", "collection": "papers"})
    assert gone.status_code == 404
    (folder / "soup.txt").unlink()
    assert run("ingest", folder, "-c", "papers").code == 0
    assert names(service, "lentils") == {"pumps.md"}
    assert service.http.delete("/v1/collections/papers?now=true").is_success
    assert run("search", "lentils", "-c", "papers").code == 1


def test_a_command_makes_a_collection_that_the_service_then_uses(
    run: Any, service: ServiceProcess, folder: Path
) -> None:
    assert run("ingest", folder, "-c", "others").code == 0
    assert names(service, "lentils", "others") == {"soup.txt", "pumps.md"}
    assert run("search", "lentils", "-c", "others").code == 0


def test_ingests_of_command_and_service_exclude_each_other(run: Any, service: ServiceProcess, folder: Path) -> None:
    def start() -> str:
        started = service.http.post("/v1/collections/papers/ingest", json={"paths": [str(folder)]})
        assert started.status_code == 202, started.text
        return str(started.json()["id"])

    def job() -> dict[str, Any]:
        found: dict[str, Any] = service.http.get(f"/v1/jobs/{job_id}").json()
        return found

    with ingest_lock(Candor(load_settings(service.home)).engine, "papers"):  # what a command holds while it ingests
        job_id = start()
        until(lambda: job()["waits_for"])
        assert (job()["status"], job()["started_at"]) == ("waiting", None)
        assert f"being changed by process {os.getpid()}" in job()["waits_for"]
    until(lambda: job()["status"] == "done")
    assert job()["waits_for"] is None

    for number in range(400):
        (folder / f"note{number}.txt").write_text(f"Note {number} is about house {number}.\n")
    job_id = start()
    until(lambda: job()["status"] == "running" and job()["progress"])
    refused = run("ingest", folder, "-c", "papers")
    assert refused.code == 1
    assert f"being changed by process {service.process.pid}" in refused.err
    service.http.post(f"/v1/jobs/{job_id}/cancel").raise_for_status()
    until(lambda: job()["status"] == "cancelled")
    assert run("ingest", folder, "-c", "papers").code == 0


def test_commands_in_processes_of_their_own(service: ServiceProcess, folder: Path) -> None:
    """Two commands at once, then a conversation that survives the service. The last test: it kills the service."""

    def begin(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "api.cli", *arguments],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "CANDOR_HOME": str(service.home)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    (folder / "tea.md").write_text("Tea steeps for four minutes.\n")
    searches = [begin(*HOLDING), begin("ingest", str(folder), "-c", "papers")]
    for command in searches:
        _, errors = command.communicate(timeout=LIMIT_S)
        assert command.returncode == 0, errors
    assert "tea.md" in names(service, "tea")

    chat = begin("chat", "-c", "papers", "--json")
    assert chat.stdin
    assert chat.stdout
    print(QUESTION, file=chat.stdin, flush=True)
    assert json.loads(chat.stdout.readline())["status"] == "answered"
    service.kill()
    out, errors = chat.communicate(f"{QUESTION}\n", timeout=LIMIT_S)
    assert json.loads(out)["status"] == "answered", errors
