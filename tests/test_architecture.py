"""Tests of the architecture: import rules, heavy libraries, and access to the environment."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGES = ("api", "base", "candor_client", "ingest", "multi_agent", "vectorstore")
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


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_is_in_an_import_cycle(package: str) -> None:
    """Includes imports under TYPE_CHECKING and inside functions."""
    files = {_module_name(path): path for path in (ROOT / package).rglob("*.py")}
    graph = {module: _imports_of(path) & files.keys() - {module} for module, path in files.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' -> '.join(error.args[1])}")


def _module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def _imports_of(path: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.update((node.module, *(f"{node.module}.{alias.name}" for alias in node.names)))
    return names


@pytest.mark.parametrize("library", HEAVY)
def test_heavy_libraries_are_not_imported_at_module_level(library: str) -> None:
    lines = [
        (path.relative_to(ROOT), line)
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.lstrip().startswith((f"import {library}", f"from {library}"))
    ]
    assert lines, f"no module imports {library}: remove it from pyproject.toml"
    assert not [(path, line) for path, line in lines if not line.startswith(" ")]


def test_the_command_line_starts_without_heavy_libraries() -> None:
    code = "import sys; from api.cli.main import make_app; make_app(); print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {*HEAVY, "asyncio", "numpy", "sqlalchemy", "pydantic", "rich.console"} & set(loaded)


def test_the_service_starts_without_libraries_that_only_some_requests_need() -> None:
    code = "import sys, api.http.server; print(*sorted({name.split('.')[0] for name in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {*HEAVY, "mcp", "mcp_types"} & set(loaded)


def test_an_exception_in_a_thread_or_destructor_fails_its_test(pytestconfig: pytest.Config) -> None:
    filters = " ".join(pytestconfig.getini("filterwarnings"))
    assert "error::pytest.PytestUnhandledThreadExceptionWarning" in filters
    assert "error::pytest.PytestUnraisableExceptionWarning" in filters


def test_only_the_settings_read_the_environment() -> None:
    readers = [
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if "os.environ" in path.read_text(encoding="utf-8") or "getenv" in path.read_text(encoding="utf-8")
    ]
    set_for_libraries = [
        "ingest/readers/shared/unstructured_library.py",
        "multi_agent/telemetry/otlp.py",
        "vectorstore/embedding/multilingual.py",
        "vectorstore/embedding/sentence_transformers.py",
    ]
    pass_variables_on = ["base/process.py"]
    assert sorted(readers) == sorted(["api/settings.py", *pass_variables_on, *set_for_libraries])


def test_the_command_line_prints_through_functions_that_strip_terminal_controls() -> None:
    safe = {"api/cli/common.py", "api/cli/render/text.py"}
    unsafe = re.compile(r"(?<![\w.])(print|Console)\(|typer\.echo\(|click\.echo\(")
    found = [
        str(path.relative_to(ROOT))
        for path in (ROOT / "api" / "cli").rglob("*.py")
        if unsafe.search(path.read_text(encoding="utf-8"))
    ]
    assert set(found) <= safe
