"""The blocks of docs/install.md: backup and restore run as written, TOML is valid, commands and anchors exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typer.main import get_command

from api.cli.main import make_app
from multi_agent.llm.settings import EndpointSettings

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")


def blocks(language: str, heading: str = "") -> list[str]:
    """Return the blocks in a language, of the section with this heading or of the whole page."""
    section = PAGE if not heading else re.split(r"\n##+ ", PAGE.split(f"\n## {heading}\n")[1])[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


@pytest.fixture
def bash(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that runs a script in bash, with ``candor`` on the path."""
    program = tmp_path / "bin" / "candor"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m api.cli "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def call(script: str) -> str:
        done = subprocess.run(
            ["bash", "-euc", script], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def test_a_backup_restores_documents_runs_and_index(tmp_path: Path, bash: Callable[[str], str]) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "pumps.md").write_text("The Borea 12 works down to -25 °C.\n")
    bash("candor ingest papers -c papers && { candor ask 'How cold?' --json || true; }")  # a failed run: no model
    before = bash("candor search cold --json")
    [backup] = blocks("bash", "Back up")
    bash(backup)
    bash("candor drop papers --yes")
    [restore] = blocks("bash", "Restore")
    assert "How cold?" in bash(f"HOME={tmp_path}\n{restore}")
    assert bash(f"candor search cold --json --home {tmp_path / 'candor-restored'}") == before


def test_the_settings_are_valid() -> None:
    tables = [tomllib.loads(block)["llm"] for block in blocks("toml")]
    assert [EndpointSettings(**table).provider for table in tables] == ["ollama", "openai", "local"]


def commands() -> Iterator[list[str]]:
    """Yield the calls of candor in the blocks, as words."""
    for line in "\n".join(blocks("bash")).replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        if "candor" in words and "uninstall" not in words and "--entrypoint" not in words:
            yield words[len(words) - words[::-1].index("candor") :]  # "candor" may also name the container


@pytest.mark.parametrize("words", list(commands()), ids=" ".join)
def test_every_command_and_option_exists(words: list[str]) -> None:
    command = get_command(make_app())
    while words and words[0] in getattr(command, "commands", {}):
        command, words = command.commands[words[0]], words[1:]  # type: ignore[attr-defined]
    command = getattr(command, "commands", {}).get("list", command)  # a group alone lists
    known = {option for each in command.params for option in (*each.opts, *each.secondary_opts)}
    assert not {word for word in words if word.startswith("-")} - known
