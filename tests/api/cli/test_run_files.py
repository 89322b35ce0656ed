"""``candor runs export`` and ``import``: a whole run as one file."""

from __future__ import annotations

import gzip
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.service import QUESTION

Run = Callable[..., Any]
QUOTE = "The Borea 12 works down to -25 °C."


@pytest.fixture
def origin(run: Run, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable[..., None]) -> str:
    """A planned run."""
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder, "-c", "pumps")
    return str(run("ask", QUESTION, "-c", "pumps", "--mode", "high", "--json").json["run_id"])


def test_a_run_is_read_in_another_data_folder(run: Run, origin: str, tmp_path: Path) -> None:
    file, other = tmp_path / "run.candor", tmp_path / "colleague"
    assert run("runs", "export", origin[:9], "-o", file).code == 0
    imported = run("runs", "import", file, "--home", other, "--json")
    assert imported.json == {"run_id": origin, "collection": "pumps", "has_texts": True}
    here, there = (run("trace", origin, "--prompts", "--json", *more).json for more in ([], ["--home", other]))
    basis = there["run"]["basis"]
    assert basis.startswith("Imported on 20")
    there["run"] |= {"basis": here["run"]["basis"], "size": here["run"]["size"]}
    assert there == here
    for command in ("export",):
        shown = run(command, origin, "--format", "md", "--home", other).out
        assert QUOTE in shown
        expected = run(command, origin, "--format", "md").out
        assert shown == expected.replace(here["run"]["basis"], basis.replace("(", "("))
    again = run("runs", "import", file, "--home", other)
    assert again.code == 1
    assert "is already stored here" in again.err


def test_texts_are_left_out(run: Run, origin: str, tmp_path: Path) -> None:
    file, other = tmp_path / "run.candor", tmp_path / "colleague"
    run("runs", "export", origin, "-o", file, "--without-texts")
    content = gzip.decompress(file.read_bytes()).decode()
    assert QUESTION in content
    for secret in ("-25 °C", "lentils", "Extractor is", "You "):
        assert secret not in content.replace(QUESTION, ""), secret
    run("runs", "import", file, "--home", other)
    assert run("trace", origin, "--home", other).code == 0
    replayed = run("replay", origin, "--home", other)
    assert replayed.code == 1


@pytest.mark.parametrize(
    "content",
    [b"", b"no run", gzip.compress(b"{}"), gzip.compress(b"x" * 1000)[:-9]],
    ids=["empty", "text", "no run in it", "cut off"],
)
def test_a_file_that_is_no_run_is_refused(run: Run, tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "run.candor"
    file.write_bytes(content)
    refused = run("runs", "import", file)
    assert refused.code == 2
    assert "The file is" in refused.err


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
