"""What commands have in common: groups named alone list, and all but the one that serves a protocol take --json."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.main import get_command

from api.bootstrap import Candor
from api.cli.main import app

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


def test_every_command_but_those_that_serve_takes_json() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    spread = {
        f"{name} {inner}": command
        for name, each in commands.items()
        for inner, command in getattr(each, "commands", {"": each}).items()
    }
    without = {
        name.strip() for name, each in spread.items() if not any("--json" in option.opts for option in each.params)
    }
    assert without == {"mcp"}, "what it writes to standard output is the protocol's"


def test_a_command_that_writes_a_file_tells_its_path_as_json(run: Callable, tmp_path: Path) -> None:
    written = tmp_path / "mine.csv"
    assert run("eval", "init", written, "--json").json == {"written": str(written)}
    refused = run("export", "run_3f2a", "--json")
    assert (refused.code, refused.json["error"]["type"]) == (2, "UsageError")
