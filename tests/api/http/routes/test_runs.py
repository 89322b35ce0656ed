"""Lists of runs: filtered, and page after page."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import httpx
import pytest
import sqlalchemy as sql

from api.bootstrap import Candor
from multi_agent.llm.settings import EndpointSettings
from multi_agent.model import Usage
from multi_agent.values.events import Event, RunFinished
from multi_agent.values.request import Request
from support.answers import ANSWER
from support.service import RunningService, model
from support.waiting import LIMIT_S

MODELS = ("small", "large")
COLLECTIONS = ("papers", "letters", "100%")


@pytest.fixture
def candor(make_candor: Callable[..., Candor], serve: Callable[..., EndpointSettings]) -> Candor:
    """Twelve runs: two models in turn, three collections in turn; every fourth is still running."""
    made = make_candor(llm=serve(model))
    for number in range(12):
        run_id = f"run_{number:02}"
        made.trace.start(
            run_id, Request(question=f"Question {number:02} about Pumps?"), COLLECTIONS[number % 3], MODELS[number % 2]
        )
        if number % 4:
            _end(made, run_id, "failed" if number % 4 == 1 else "cancelled")
    return made


@pytest.fixture
def listed(candor: Candor) -> Iterator[Callable[..., list[int]]]:
    """``listed(model="small")`` gives the numbers of the runs, as they are listed."""
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:

        def call(**wanted: object) -> list[int]:
            response = http.get("/v1/runs", params=wanted)
            assert response.status_code == 200, response.text
            return [int(run["run_id"].removeprefix("run_")) for run in response.json()]

        yield call


def _end(candor: Candor, run_id: str, status: str) -> None:
    with candor.engine.begin() as connection:
        connection.execute(
            sql.text("UPDATE runs SET status = :status WHERE run_id = :run_id"), {"run_id": run_id, "status": status}
        )


def test_runs_are_listed_by_what_is_asked_for(listed: Callable[..., list[int]], candor: Candor) -> None:
    assert listed() == list(range(11, -1, -1)), "newest first"
    assert listed(collection="letters") == [10, 7, 4, 1]
    assert listed(model="small") == [10, 8, 6, 4, 2, 0]
    assert listed(status="running") == [8, 4, 0]
    assert listed(status=["running", "failed"]) == [9, 8, 5, 4, 1, 0]
    assert listed(text="question 07 ABOUT") == [7]
    assert listed(text="%") == [], "a sign of SQL is a sign like any other"
    assert listed(collection="100%", model="large", status="failed") == [5]
    assert listed(collection="none") == []
    seventh = candor.trace.run("run_07").started_at
    assert listed(since=seventh.isoformat()) == [11, 10, 9, 8, 7]
    assert listed(until=seventh.isoformat()) == [7, 6, 5, 4, 3, 2, 1, 0]
    assert listed(since=(datetime.now(UTC) + timedelta(days=1)).isoformat()) == []
    elsewhere = seventh.astimezone(timezone(timedelta(hours=5))).isoformat()
    assert listed(since=elsewhere, until=elsewhere) == [7], "a moment is the same in every time zone"


def test_pages_follow_each_other_without_gap_or_overlap(candor: Candor) -> None:
    with RunningService(candor) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:
        pages: list[list[str]] = []
        following: str | None = "/v1/runs?limit=2&model=small"
        while following:
            page = http.get(following)
            pages.append([run["run_id"] for run in page.json()])
            link = page.headers.get("link")
            following = link and re.fullmatch(r'<([^>]*)>; rel="next"', link)[1]
        assert pages == [["run_10", "run_08"], ["run_06", "run_04"], ["run_02", "run_00"]]
        assert http.get("/v1/runs?after=run_none").status_code == 404
        assert http.get("/v1/runs?status=lost").status_code == 422
        assert http.get("/v1/runs?since=2026-01-01T00:00:00").status_code == 422, "of which time zone?"


def test_the_command_line_lists_the_same(run: Callable, candor: Candor) -> None:
    def numbers(*options: str) -> list[int]:
        return [int(each["run_id"].removeprefix("run_")) for each in run("runs", *options, "--json").json]

    assert numbers("--status", "running", "--collection", "letters") == [4]
    assert numbers("--status", "failed", "--status", "running", "-n", "2") == [9, 8]
    assert numbers("--text", "pumps", "-c", "papers") == [9, 6, 3, 0]
    unknown = run("runs", "--status", "lost")
    assert (unknown.code, "status.0: Input should be 'waiting', 'running'" in unknown.err) == (2, True)


@pytest.fixture
def finished(candor: Candor) -> Candor:
    """Six of the twelve runs have ended with an answer; two of these models have a price."""
    for number in (1, 2, 3, 5, 6, 7):
        usage = Usage(prompt_tokens=100 * number, completion_tokens=7, seconds=(number * 5) % 7, cost=number % 3 / 100)
        text = "" if number == 5 else "It is 5. [1]"
        basis = f"Word for word on page {number}" if number != 6 else ""
        answer = ANSWER.model_copy(
            update={
                "run_id": f"run_{number:02}",
                "usage": usage,
                "answer": text,
                "confidence": number / 10,
                "basis": basis,
            }
        )
        body = RunFinished(status="answered", reason="", usage=usage)
        candor.trace.finish(answer, Event(run_id=answer.run_id, number=1, at=datetime.now(UTC), body=body))
    return candor


def test_runs_have_figures_and_are_sorted_by_them(finished: Candor) -> None:
    with RunningService(finished) as service, httpx.Client(base_url=service.url, timeout=LIMIT_S) as http:

        def pages(sort: str) -> list[dict[str, Any]]:
            found: list[dict[str, Any]] = []
            following: str | None = f"/v1/runs?limit=5&sort={sort}"
            while following:
                page = http.get(following)
                found += page.json()
                link = page.headers.get("link")
                following = link and re.fullmatch(r'<([^>]*)>; rel="next"', link)[1]
            return found

        for sort, field in (("duration", "seconds"), ("tokens", "tokens"), ("cost", "cost"), ("confidence",) * 2):
            listed = pages(sort)
            assert len({run["run_id"] for run in listed}) == len(listed) == 12, sort
            values = [run[field] for run in listed]
            known = [value for value in values if value is not None]
            assert values == sorted(known, reverse=True) + [None] * (12 - len(known)), sort
        by_id = {run["run_id"]: run for run in pages("created")}
        assert [by_id["run_07"][each] for each in ("seconds", "tokens", "cost", "confidence")] == [0, 707, 0.01, 0.7]
        assert (by_id["run_06"]["cost"], by_id["run_05"]["confidence"]) == (None, None), "no price, no answer"
        assert [by_id[f"run_0{each}"]["basis"] for each in (7, 6, 5)] == ["Word for word on page 7", "", ""]
        assert by_id["run_04"]["seconds"] is None, "it has not ended"
        shown = {each["run_id"]: each["short"] for each in http.get("/v1/runs?with_answers=true").json()}
        assert (shown["run_01"], shown["run_05"], shown["run_04"]) == ("It is 5. [1]", "", "")
        assert by_id["run_01"]["short"] == "", "it was not asked for"
        assert http.get("/v1/runs?sort=size").status_code == 422


def test_the_command_line_sorts_and_goes_on_after_a_run(run: Callable, finished: Candor) -> None:
    first = [each["run_id"] for each in run("runs", "--sort", "tokens", "-n", "2", "--json").json]
    assert first == ["run_07", "run_06"]
    following = run("runs", "--sort", "tokens", "-n", "2", "--after", "run_06", "--json").json
    assert [each["run_id"] for each in following] == ["run_05", "run_03"]
    shown = run("runs", "--sort", "confidence", "-n", "1").out
    assert "707" in shown
    assert "0.0100" in shown
    assert "Word for word on page" in shown
    assert "confidence 0.60" in run("runs").out, "a run of an older version has no words"
    unknown = run("runs", "--sort", "size")
    assert (unknown.code, "sort: Input should be 'created'" in unknown.err) == (2, True)
