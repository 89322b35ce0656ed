"""Candor on Postgres: all data is in Postgres, and the home folder has no database."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest
import sqlalchemy as sql

from api.bootstrap import Candor
from api.cli.ingest import run_ingest
from api.settings import ServiceSettings
from multi_agent.llm.settings import EndpointSettings
from support.effects.effects import PACKAGE as TOOLS
from support.handyman import Terminal, calls, report, rounds
from support.launching.launcher import PACKAGE as AGENTS
from support.panel import Panel
from support.service import NEVER, QUESTION, RunningService, follow, model
from support.waiting import LIMIT_S, until

Run = Callable[..., Any]


def test_documents_runs_and_journal_are_in_postgres(
    postgres: str,
    run: Run,
    folder: Path,
    tmp_path: Path,
    serve: Callable[..., EndpointSettings],
    use_model: Callable[[EndpointSettings], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CANDOR_DATABASE_URL", postgres)
    use_model(serve(Panel("-25 °C")))
    assert run("ingest", folder).code == 0
    assert run("ingest", folder, "--json").json["unchanged"] == 2

    answer = run("ask", "Down to which temperature does the Borea 12 work?", "--json").json
    assert answer["status"] == "answered"
    [item] = answer["evidence"]
    text = run("show", item["document_id"], "--text").out
    assert text[item["start"] : item["end"]] == item["quote"]
    assert len(run("trace", answer["run_id"], "--prompts", "--json").json["calls"]) == 7
    [listed] = run("runs", "--sort", "cost", "--json").json
    assert (listed["run_id"], listed["confidence"]) == (answer["run_id"], answer["confidence"])
    assert (listed["cost"], listed["seconds"]) == (None, answer["usage"]["seconds"])
    for order in ("duration", "tokens", "cost", "confidence"):
        assert run("runs", "--sort", order, "--after", answer["run_id"], "--json").json == []
    assert not (tmp_path / "home" / "candor.db").exists()


def test_approvals_and_tool_calls_are_in_postgres(
    postgres: str,
    run: Run,
    folder: Path,
    tmp_path: Path,
    serve: Callable[..., EndpointSettings],
    use_model: Callable[[EndpointSettings], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CANDOR_DATABASE_URL", postgres)
    monkeypatch.setenv("CANDOR_TOOLS__PACKAGES", json.dumps([TOOLS]))
    monkeypatch.setenv("CANDOR_RESEARCH__AGENT_PACKAGES", json.dumps([AGENTS]))
    use_model(serve(rounds(calls(("launch", {"what": "rocket"})), last=report("Reported."))))
    assert run("ingest", folder, "-c", "launches").code == 0
    monkeypatch.setattr("sys.stdin", Terminal("y\n"))
    asked = run("ask", "Shall we?", "--agent", "Handyman", "-c", "launches", "--sources", "documents,tools")
    assert "Handyman wants to call launch" in asked.err
    [run_id] = [each["run_id"] for each in run("runs", "-c", "launches", "--json").json]
    assert asked.err.endswith(f"Files written by the run, in {tmp_path / 'home' / 'sandbox' / run_id}: log.txt\n")
    [call] = run("trace", run_id, "--prompts", "--json").json["tool_calls"]
    assert call["result"]["text"] == "rocket is number 1"
    assert run("approvals", "--json").json == []
    assert not (tmp_path / "home" / "candor.db").exists()


def test_the_jobs_of_the_service_are_in_postgres(
    postgres: str,
    folder: Path,
    make_candor: Callable[..., Candor],
    serve: Callable[..., EndpointSettings],
) -> None:
    separate = ServiceSettings(research_process=True)
    candor = make_candor(database_url=postgres, llm=serve(model), service=separate)
    run_ingest(candor, [folder], "served", progress=False)
    asked = {"question": NEVER, "collection": "served", "wait": False}
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        left = http.post("/v1/research", json=asked).json()["run_id"]
        follow(http, left, limit=1)

    candor = make_candor(database_url=postgres, llm=candor.settings.llm, service=separate)
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        answer = http.post("/v1/research", json={"question": QUESTION, "collection": "served"}).json()
        assert answer["status"] == "answered"
        until(lambda: http.get(f"/v1/jobs/{answer['run_id']}").json()["status"] == "done")
        assert http.get(f"/v1/runs/{left}").json()["run"]["status"] == "running", "it resumed and waits for its model"
        assert http.post(f"/v1/jobs/{left}/cancel").json()["status"] == "cancelled"
    assert not list(candor.settings.home.glob("*.db"))


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql+psycopg://candor@127.0.0.1:9/postgres", ["127.0.0.1", "9"]),
        ("no such thing", ["CANDOR_DATABASE_URL"]),
        ("sybase://x", ["CANDOR_DATABASE_URL"]),
    ],
)
def test_an_unusable_database_is_reported(
    run: Run, monkeypatch: pytest.MonkeyPatch, url: str, words: list[str]
) -> None:
    monkeypatch.setenv("CANDOR_DATABASE_URL", url)
    result = run("runs")
    assert result.code in (1, 2)
    for word in words:
        assert word in result.err
    assert "Traceback" not in result.err


def test_a_wrong_password_is_named_and_no_worker_waits_for_it(
    postgres: str, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = sql.create_engine(postgres)
    with engine.begin() as connection:
        connection.execute(sql.text("CREATE ROLE ada LOGIN PASSWORD 'right'"))
        access = Path(str(connection.scalar(sql.text("SHOW hba_file"))))
        access.write_text(f"host all ada all scram-sha-256\n{access.read_text()}")
        connection.execute(sql.text("SELECT pg_reload_conf()"))
    engine.dispose()
    url = sql.make_url(postgres).set(username="ada", password="wrong")
    monkeypatch.setenv("CANDOR_DATABASE_URL", url.render_as_string(hide_password=False))
    monkeypatch.setenv("CANDOR_STORE__URL", "http://127.0.0.1:1")
    for command in ("runs", "worker --queues research"):
        failed = run(*command.split())
        assert failed.code == 1
        assert "Check the user, the password and the name of the database in CANDOR_DATABASE_URL" in failed.err
