"""``candor worker`` rejects what it cannot do. tests/api/jobs/test_workers.py has workers that run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
POSTGRES, QDRANT = "postgresql+psycopg://candor@127.0.0.1:9/candor", "http://127.0.0.1:9"


@pytest.mark.parametrize(
    ("queues", "words"),
    [("resarch", "--queues names 'resarch'. Known: research, ingest, evaluation"), (" , ", "--queues names nothing")],
)
def test_unknown_queues_are_rejected(run: Run, tmp_path: Path, queues: str, words: str) -> None:
    result = run("worker", "--queues", queues, "--home", tmp_path)
    assert (result.code, words in result.err) == (2, True), result.err


def test_a_worker_needs_a_shared_database_and_store(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_DATABASE_URL", POSTGRES)
    result = run("worker", "--home", tmp_path)
    assert result.code == 2
    assert "A worker needs the Postgres database and the Qdrant server" in result.err


def test_ingests_need_a_shared_folder_of_uploads(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CANDOR_DATABASE_URL", POSTGRES)
    monkeypatch.setenv("CANDOR_STORE__URL", QDRANT)
    result = run("worker", "--queues", "research,ingest", "--home", tmp_path)
    assert result.code == 2
    assert "CANDOR_SERVICE__UPLOADS_FOLDER" in result.err


@pytest.mark.parametrize("folder", ["roots/uploads", "."])
def test_the_folder_of_uploads_is_apart_from_the_ingest_roots(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: str
) -> None:
    monkeypatch.setenv("CANDOR_SERVICE__INGEST_ROOTS", f'["{tmp_path / "roots"}"]')
    monkeypatch.setenv("CANDOR_SERVICE__UPLOADS_FOLDER", str(tmp_path / folder))
    result = run("doctor", "--home", tmp_path / "home")
    assert result.code == 2
    assert "overlaps" in result.err
