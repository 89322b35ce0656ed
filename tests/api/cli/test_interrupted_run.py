"""A run of a command whose process is killed, and cancels from other processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest

from api.bootstrap import Candor
from multi_agent.storage.run_filter import RunState
from multi_agent.values import request as requests
from support.panel import SYNTHESIS, Panel, role_of
from support.replies import Reply, Request, held_until
from support.scripted_endpoint import ScriptedEndpoint
from support.service import QUESTION, RunningService
from support.waiting import LIMIT_S, until

_PANEL = Panel("-25 °C")


@pytest.fixture
def go_on() -> threading.Event:
    """Lets the Synthesizer answer."""
    return threading.Event()


@pytest.fixture
def endpoint(go_on: threading.Event) -> Iterator[ScriptedEndpoint]:
    """A panel whose Synthesizer waits."""

    def respond(request: Request) -> Reply | str:
        played = _PANEL(request)
        return held_until(go_on, played) if role_of(request) == SYNTHESIS else played

    with ScriptedEndpoint(respond) as endpoint:
        yield endpoint
        go_on.set()


@pytest.fixture
def candor(
    endpoint: ScriptedEndpoint, use_model: Callable, make_candor: Callable[..., Candor], ingested: None
) -> Candor:
    """Candor of this process, on the data folder of the commands."""
    use_model(endpoint.settings("openai"))
    return make_candor(llm=endpoint.settings("openai"))


@contextmanager
def asking(endpoint: ScriptedEndpoint) -> Iterator[subprocess.Popen[str]]:
    """``candor ask`` in a process that waits for the Synthesizer."""
    command = [sys.executable, "-m", "api.cli", "ask", QUESTION, "-c", "papers", "--mode", "high", "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    pipe, before = subprocess.PIPE, len(endpoint.requests)

    def waits() -> bool:
        return any(role_of(each) == SYNTHESIS for each in endpoint.requests[before:])

    with subprocess.Popen(command, env=environment, stdout=pipe, stderr=pipe, text=True) as process:
        try:
            until(lambda: process.poll() is not None or waits())
            assert process.poll() is None, process.communicate()
            yield process
        finally:
            process.kill()


def only_run(run: Any) -> dict[str, Any]:
    """Return the run of the list."""
    [found] = run("runs", "list", "--json").json
    return dict(found)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_killed_run_is_interrupted_and_resumed_without_paying_twice(
    run: Any, candor: Candor, endpoint: ScriptedEndpoint, go_on: threading.Event, number: signal.Signals
) -> None:
    with asking(endpoint) as process:
        assert only_run(run)["status"] == "running"
        process.send_signal(number)
        process.communicate(timeout=LIMIT_S)
    found = only_run(run)
    run_id, calls = found["run_id"], len(endpoint.requests)
    assert found["status"] == "interrupted"
    assert [each["run_id"] for each in run("runs", "list", "--status", "interrupted", "--json").json] == [run_id]
    assert f"`candor runs resume {run_id}` continues it." in " ".join(run("trace", run_id).err.split())
    refused = run("export", run_id)
    assert (refused.code, "was interrupted" in refused.err) == (1, True), refused.err

    go_on.set()
    resumed = run("runs", "resume", run_id, "--json")
    assert resumed.code == 0, resumed.err
    assert (resumed.json["run_id"], resumed.json["status"]) == (run_id, "answered")
    assert len(endpoint.requests) == calls + 1, "only the request without a response is sent again"
    again = run("runs", "resume", run_id)
    assert (again.code, "was not interrupted: it is answered" in again.err) == (2, True)


def test_a_run_is_cancelled_by_another_command(run: Any, candor: Candor, endpoint: ScriptedEndpoint) -> None:
    with asking(endpoint) as process:
        run_id = only_run(run)["run_id"]
        refused = run("runs", "resume", run_id)
        assert (refused.code, "it is running" in refused.err) == (2, True)
        cancelled = run("runs", "cancel", run_id)
        assert (cancelled.code, cancelled.err) == (0, f"Run {run_id} is cancelled.\n")
        answer, _ = process.communicate(timeout=LIMIT_S)
        assert (process.returncode, '"status": "cancelled"' in answer) == (130, True)
    assert only_run(run)["status"] == "cancelled"
    assert list((candor.settings.home / "runs").iterdir()) == []


def test_an_interrupted_run_is_cancelled(run: Any, candor: Candor, endpoint: ScriptedEndpoint) -> None:
    with asking(endpoint):
        run_id = only_run(run)["run_id"]
    assert run("runs", "cancel", run_id, "--json").json["status"] == "cancelled"
    assert run("runs", "cancel", run_id, "--json").json["status"] == "cancelled"


def test_the_service_shows_and_cancels_runs_of_commands(run: Any, candor: Candor, endpoint: ScriptedEndpoint) -> None:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        with asking(endpoint):
            run_id = only_run(run)["run_id"]
            assert http.get(f"/v1/runs/{run_id}").json()["run"]["status"] == "running"
        assert http.get(f"/v1/runs/{run_id}").json()["run"]["status"] == "interrupted"
        with http.stream("GET", f"/v1/runs/{run_id}/events") as events:
            assert "run_finished" not in events.read().decode(), "the stream ends although the run has not"
        assert [each["run_id"] for each in http.get("/v1/runs?status=interrupted").json()] == [run_id]

        with asking(endpoint) as process:
            [other] = [each["run_id"] for each in http.get("/v1/runs?status=running").json()]
            assert http.post(f"/v1/runs/{other}/cancel").json()["status"] == "cancelled"
            process.communicate(timeout=LIMIT_S)
            assert process.returncode == 130
        assert http.post(f"/v1/runs/{run_id}/cancel").json()["status"] == "cancelled"


def test_the_run_of_another_data_folder_is_not_cancelled(run: Any, candor: Candor) -> None:
    candor.trace.start("run_elsewhere", requests.Request(question=QUESTION), "papers", "scripted")
    refused = run("runs", "cancel", "run_elsewhere")
    assert (refused.code, "belongs to a service or to a command with another data folder" in refused.err) == (1, True)
    assert candor.trace.run("run_elsewhere").status == RunState.RUNNING
