"""docs/seeds.md: every row names a test that pytest finds by this name, and its commands exist."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer.main

from api.cli.main import make_app

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "seeds.md").read_text(encoding="utf-8")
ROWS = [line for line in PAGE.splitlines() if line.startswith("| ") and "| test |" not in line]
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py)::([\w:]+)`", PAGE)))
COMMANDS = sorted(set(re.findall(r"`candor ([a-z]+(?: [a-z]+)?)\b", PAGE)))


@cache
def functions_of(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    classes = {f"{node.name}::": node.body for node in tree.body if isinstance(node, ast.ClassDef)}
    return {
        f"{owner}{node.name}"
        for owner, body in {"": tree.body, **classes}.items()
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def test_each_seed_has_rows() -> None:
    assert re.findall(r"^## Seed (\d)", PAGE, re.MULTILINE) == ["0", "1", "2", "3", "4"]
    assert len(ROWS) > 50


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[2:50])
def test_a_row_names_a_test(row: str) -> None:
    statement, shown, tests = (cell.strip() for cell in row.strip("| ").split(" | "))
    assert statement
    assert shown
    assert "::test_" in tests


@pytest.mark.parametrize(("file", "name"), NAMED, ids=lambda each: each.rpartition("/")[2])
def test_a_named_test_exists(file: str, name: str) -> None:
    assert name in functions_of(file)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_named_command_exists(command: str) -> None:
    found: Any = typer.main.get_command(make_app())
    for word in command.split():
        assert word in getattr(found, "commands", {}), command
        found = found.commands[word]
