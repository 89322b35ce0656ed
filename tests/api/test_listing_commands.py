"""Groups of commands that list: named alone, they do what their `list` does."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command

from api.bootstrap import Candor
from api.cli import app

GROUPS = sorted(name for name, each in get_command(app).commands.items() if "list" in getattr(each, "commands", {}))  # type: ignore[attr-defined]


def test_these_are_all_the_groups_that_list() -> None:
    assert GROUPS == [
        "agents", "approvals", "audit", "documents", "eval", "keys", "memories", "plans", "skills", "tools",
    ]  # fmt: skip


@pytest.fixture
def home(make_candor: Callable[..., Candor]) -> Path:
    """With an empty collection."""
    candor = make_candor()
    candor.make_collection("papers")
    return candor.settings.home


@pytest.mark.parametrize("group", GROUPS)
def test_a_group_named_alone_lists_with_the_options_of_its_list(run: Callable, group: str, home: Path) -> None:
    bare, spelled_out = run(group, "--json", "--home", home), run(group, "list", "--json", "--home", home)
    assert bare == spelled_out
    assert (bare.code, type(bare.json)) == (0, list)


@pytest.mark.parametrize("group", GROUPS)
def test_its_help_tells_of_all_its_commands_and_that_of_list_has_an_example(run: Callable, group: str) -> None:
    about = " ".join(run(group, "--help").out.split())
    assert "Without a command, this is `list`." in about
    listing = " ".join(run(group, "list", "--help").out.split())
    assert f"Example: candor {group}" in listing
    assert "--json" in listing


def test_a_command_that_is_not_there_is_no_option_of_list(run: Callable) -> None:
    refused = run("keys", "lst")
    assert (refused.code, "No such command 'lst'" in refused.err) == (2, True)
