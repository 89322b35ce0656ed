"""The rules that hold the shape of the house."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
HEAVY = (
    "torch",
    "sentence_transformers",
    "kreuzberg",
    "llama_index",
    "qdrant_client",
    "instructor",
    "openai",
    "ollama",
)


def test_imports_point_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    result = subprocess.run([linter, "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("library", HEAVY)
def test_a_heavy_library_is_imported_in_few_files_and_never_at_module_level(library: str) -> None:
    lines = [
        (path.relative_to(ROOT), line)
        for package in ("api", "ingest", "multi_agent", "vectorstore")
        for path in (ROOT / package).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith((f"import {library}", f"from {library}"))
    ]
    assert lines, f"nobody imports {library}: drop it from pyproject.toml"
    assert not [(path, line) for path, line in lines if not line.startswith(" ")]


def test_the_command_line_starts_without_heavy_libraries() -> None:
    code = "import sys, api.cli.main; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {*HEAVY, "numpy", "sqlalchemy", "pydantic", "rich"} & set(loaded)


def test_only_the_settings_read_the_environment() -> None:
    readers = [
        str(path.relative_to(ROOT))
        for package in ("api", "ingest", "multi_agent", "vectorstore")
        for path in (ROOT / package).rglob("*.py")
        if "os.environ" in path.read_text(encoding="utf-8") or "getenv" in path.read_text(encoding="utf-8")
    ]
    assert readers == ["api/settings.py"]
