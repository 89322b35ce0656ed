"""Fixtures of the tests with a model that sees pictures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.scripted_endpoint import Responder, ScriptedEndpoint


@pytest.fixture
def endpoint(model: Responder) -> Iterator[ScriptedEndpoint]:
    """An endpoint that sees pictures and answers with the fixture ``model`` of the test's module."""
    with ScriptedEndpoint(model, sees=True) as started:
        yield started


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """An empty folder for documents."""
    folder = tmp_path / "reports"
    folder.mkdir()
    return folder
