"""The written parts of the client fit the service: ``make client`` writes them."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from candor_client import models, options

ROOT = Path(__file__).parents[2]
HEAVY = {"api", "base", "ingest", "llama_index", "multi_agent", "numpy", "qdrant_client", "torch", "vectorstore"}


@pytest.fixture(scope="module")
def written() -> dict[str, Any]:
    return runpy.run_path(str(ROOT / "docs" / "build_client.py"))


def test_the_models_have_the_fields_of_the_responses(written: dict[str, Any]) -> None:
    described = {name: each for name, each in written["responses"]().items() if "properties" in each}
    fields = {name: getattr(models, name).model_fields for name in described}
    required = {name: {key for key in each if each[key].is_required()} for name, each in fields.items()}
    assert {name: set(each) for name, each in fields.items()} == {
        name: set(each["properties"]) for name, each in described.items()
    }, "run: make client"
    assert required == {name: set(each.get("required", ())) for name, each in described.items()}, "run: make client"


def test_the_options_have_the_fields_of_the_requests(written: dict[str, Any]) -> None:
    described = {name: each for name, each in written["options"]().items() if "properties" in each}
    assert {name: set(getattr(options, name).__annotations__) for name in described} == {
        name: set(each["properties"]) for name, each in described.items()
    }, "run: make client"


def test_the_client_to_call_is_the_one_to_await_without_waiting(written: dict[str, Any]) -> None:
    assert (ROOT / "candor_client" / "client.py").read_text(encoding="utf-8") == written["client"](), "run: make client"


def test_the_client_needs_nothing_of_the_service() -> None:
    code = "import sys, candor_client; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not HEAVY & set(loaded.split())
