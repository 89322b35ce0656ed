"""``candor replay``: repeat a run from its journal, and name what has changed since."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel
from support.service import QUESTION

Run = Callable[..., Any]


@pytest.fixture
def earlier(
    run: Run, folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> str:  # fmt: skip
    """A run whose model is gone."""
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder, "-c", "pumps")
    answer = run("ask", QUESTION, "-c", "pumps", "--json").json
    assert answer["status"] == "answered"
    monkeypatch.setenv("CANDOR_LLM__BASE_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("CANDOR_LLM__MODEL", "another")
    return str(answer["run_id"])


def test_a_run_is_replayed_without_its_model(run: Run, earlier: str) -> None:
    replayed = run("replay", earlier[:10])
    assert replayed.code == 0, replayed.out + replayed.err
    assert replayed.out.startswith(f"{earlier}: the same ")
    assert run("replay", earlier, "--json").json["same"] is True
    assert len(run("runs", "--json").json) == 1


def test_a_changed_document_is_the_cause(run: Run, earlier: str, folder: Path) -> None:
    (folder / "pumps.md").write_text("# Pumps\n\n## Limits\n\nThe Borea 12 works down to -20 °C.\n")
    run("ingest", folder, "-c", "pumps")
    replayed = run("replay", earlier)
    assert replayed.code == 1
    assert "Cause: document: pumps.md has a new version." in replayed.out
    assert "differs first in event 2: searched." in replayed.out


def test_a_deleted_document_is_the_cause(run: Run, earlier: str) -> None:
    assert run("documents", "rm", "soup.txt", "-c", "pumps").code == 0
    replayed = run("replay", earlier)
    assert replayed.code == 1
    assert "Cause: document: soup.txt was deleted." in replayed.out


def test_another_chunking_is_the_cause(run: Run, earlier: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_INGEST__CHUNK_TOKENS", "100")
    run("drop", "pumps", "--yes", "--now")
    run("ingest", folder, "-c", "pumps")
    replayed = run("replay", earlier)
    assert replayed.code == 1
    assert "Cause: index: chunking was '" in replayed.out


def test_another_embedding_model_is_the_cause(run: Run, earlier: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_STORE__EMBEDDING__MODEL", "another/model")
    replayed = run("replay", earlier)
    assert replayed.code == 1
    assert "was embedded with" in replayed.out
    assert "Cause: index: store.embedding.model is not the model of the collection." in replayed.out


def test_a_deleted_collection_is_the_cause(run: Run, earlier: str) -> None:
    run("drop", "pumps", "--yes", "--now")
    replayed = run("replay", earlier, "--json")
    assert replayed.code == 1
    assert (replayed.json["causes"][0]["kind"], replayed.json["causes"][0]["name"]) == ("document", "pumps")
