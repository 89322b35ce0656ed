"""``candor ask --again``: an earlier question with other options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.service import QUESTION


@pytest.fixture
def earlier(run: Callable, folder: Any, serve: Callable[..., EndpointSettings], use_model: Callable) -> dict[str, Any]:
    """A run in mode fast over the collection `pumps`."""
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder, "-c", "pumps")
    run("ingest", folder, "-c", "others")
    answer: dict[str, Any] = run("ask", QUESTION, "-c", "pumps", "--mode", "fast", "--strict", "--json").json
    return answer


def request_of(run: Callable, run_id: str) -> dict[str, Any]:
    events = run("trace", run_id, "--json").json["events"]
    [request] = [each["body"]["request"] for each in events if each["body"]["type"] == "run_started"]
    return dict(request)


def test_a_question_is_asked_again_with_its_options(run: Callable, earlier: dict[str, Any]) -> None:
    again = run("ask", "--again", earlier["run_id"], "--json").json
    assert again["run_id"] != earlier["run_id"]
    assert request_of(run, again["run_id"]) == request_of(run, earlier["run_id"])
    assert [each["collection"] for each in run("runs", "--json").json] == ["pumps", "pumps"]


def test_given_options_replace_those_of_the_run(run: Callable, earlier: dict[str, Any]) -> None:
    again = run("ask", "--again", earlier["run_id"][:8], "--mode", "auto", "-c", "others", "--json").json
    request = request_of(run, again["run_id"])
    assert (request["question"], request["mode"], request["strict"]) == (QUESTION, "auto", True)
    direct = run("ask", "--again", earlier["run_id"], "--agent", "Reader", "--json").json
    assert (request_of(run, direct["run_id"])["mode"], direct["mode"]) == ("direct", "direct")


def test_an_unknown_run_or_no_question_is_refused(run: Callable, earlier: dict[str, Any]) -> None:
    assert run("ask", "--again", "run_none").code == 1
    assert run("ask").code == 2
