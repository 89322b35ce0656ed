"""Completion in a real bash: commands, collections and runs, without the libraries that take seconds to load."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from api.cli.completion import complete_collections
from multi_agent.llm.settings import EndpointSettings
from support.panel import Panel

ROOT = Path(__file__).parents[3]
HEAVY = ("torch", "sqlalchemy", "qdrant_edge", "qdrant_client", "alembic", "fastapi")


@pytest.fixture
def bash(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that runs a script in bash, with ``candor`` on the path and an empty user folder."""
    program = tmp_path / "bin" / "candor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m api.cli "$@"\n')
    program.chmod(0o755)
    (tmp_path / "user").mkdir()
    environment = os.environ | {
        "PATH": f"{program.parent}:{os.environ['PATH']}", "HOME": str(tmp_path / "user"), "PYTHONPATH": str(ROOT)
    }  # fmt: skip

    def call(script: str) -> str:
        done = subprocess.run(["bash", "-c", script], env=environment, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def completed(bash: Callable[[str], str], *words: str) -> list[str]:
    """Return what Tab offers for the last word."""
    quoted = " ".join(f"'{word}'" for word in words)
    return bash(
        f'. "$HOME/.bashrc"; COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}; _candor_completion candor; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    ).split()


def test_tab_completes_commands_collections_and_runs(
    run: Callable, bash: Callable[[str], str], folder: Path, serve: Callable[..., EndpointSettings], use_model: Callable
) -> None:
    use_model(serve(Panel("-25 °C")))
    run("ingest", folder, "-c", "papers")
    run("ingest", folder, "-c", "letters")
    run_id = run("ask", "Down to which temperature does the Borea 12 work?", "-c", "papers", "--json").json["run_id"]
    assert "bash completion installed" in bash("candor --install-completion; true")
    assert completed(bash, "candor", "do") == ["doctor", "documents"]
    assert completed(bash, "candor", "ask", "Why?", "--collection", "") == ["letters", "papers"]
    assert completed(bash, "candor", "ingest", "-c", "pa") == ["papers"]
    assert completed(bash, "candor", "drop", "l") == ["letters"]
    assert completed(bash, "candor", "trace", "run_") == [run_id]
    assert completed(bash, "candor", "export", "x") == []
    home = os.environ["CANDOR_HOME"]
    with pytest.MonkeyPatch.context() as elsewhere:
        elsewhere.delenv("CANDOR_HOME")
        assert completed(bash, "candor", "--home", home, "drop", "l") == ["letters"]


def test_names_are_completed_without_heavy_libraries(run: Callable, folder: Path) -> None:
    run("ingest", folder, "-c", "papers")
    asked = {"COMP_WORDS": "candor search x -c ", "COMP_CWORD": "4", "_CANDOR_COMPLETE": "complete_bash"}
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "api.cli"], env=os.environ | asked | {"PYTHONPATH": str(ROOT)},
        capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.split() == ["papers"]
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "sqlite3" in imported
    assert not imported.intersection(HEAVY)


@pytest.mark.parametrize("content", [None, b"", b"this is no database"])
def test_a_missing_or_broken_database_completes_nothing(tmp_path: Path, content: bytes | None) -> None:
    from click import Context
    from typer.main import get_command

    from api.cli.main import make_app

    if content is not None:
        (tmp_path / "candor.db").write_bytes(content)
    context = Context(get_command(make_app()))
    context.params["home"] = tmp_path
    assert complete_collections(context, "") == []  # type: ignore[arg-type]
