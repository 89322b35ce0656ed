"""``candor runs prune`` deletes old runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.service import QUESTION

Run = Callable[..., Any]


@pytest.fixture
def origin(run: Run, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable[..., None]) -> str:
    """A planned run."""
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder, "-c", "pumps")
    return str(run("ask", QUESTION, "-c", "pumps", "--mode", "high", "--json").json["run_id"])


def test_runs_are_pruned_by_age_number_and_size(run: Run, origin: str, tmp_path: Path) -> None:
    runs = [origin, *(run("fork", origin, "--at", "answer", "--json").json["run_id"] for _ in range(3))]
    run("rate", runs[1], "up")
    listed = run("runs", "prune", "--keep", "1", "--json")
    assert [each["run_id"] for each in listed.json["runs"]] == [runs[2]], "the first run is the origin of kept forks"
    assert listed.json["deleted"] is False
    assert len(run("runs", "--json").json) == 4, "without --yes, prune only lists"
    assert run("runs", "prune", "--older-than", "1d", "--yes", "--json").json["runs"] == []
    assert run("runs", "prune", "--keep", "1", "--yes", "--now").code == 0
    assert [each["run_id"] for each in run("runs", "--json").json] == [runs[3], runs[1], runs[0]]
    with sqlite3.connect(tmp_path / "home" / "candor.db") as database:
        for table in ("events", "journal", "citations"):
            kept = {run_id for (run_id,) in database.execute(f"SELECT DISTINCT run_id FROM {table}")}
            assert kept == {runs[3], runs[1], runs[0]}
    assert [each["run_id"] for each in run("runs", "prune", "--max-bytes", "1kB", "--json").json["runs"]] == [runs[3]]
    assert run("runs", "prune").code == 2
    assert run("runs", "prune", "--older-than", "soon").code == 2
