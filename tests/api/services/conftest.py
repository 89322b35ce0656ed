"""Fixtures for tests with a model that accepts images."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.replies import Responder
from support.scripted_endpoint import ScriptedEndpoint


@pytest.fixture
def endpoint(model: Responder) -> Iterator[ScriptedEndpoint]:
    """Yield an endpoint that accepts images and responds with the ``model`` fixture of the test module."""
    with ScriptedEndpoint(model, sees=True) as started:
        yield started


@pytest.fixture
def reports(tmp_path: Path) -> Path:
    """Return an empty folder for documents."""
    folder = tmp_path / "reports"
    folder.mkdir()
    return folder
