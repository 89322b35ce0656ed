"""What the commands share: their common options, and how results and messages are printed."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from api.errors import UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from api.bootstrap import Candor
    from multi_agent.catalog.store import EntryT


Json = Annotated[bool, typer.Option("--json", help="One JSON value on standard output.")]
Home = Annotated[Path | None, typer.Option("--home", help="Folder of all data (CANDOR_HOME).", show_default=False)]
CollectionOption = Annotated[
    str | None, typer.Option("--collection", "-c", help="Which collection; not needed if there is just one.")
]


class _ListsUnlessTold(TyperGroup):
    """`candor keys` is `candor keys list`, and takes its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # the type of its context is private to Typer
        bare = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        return super().parse_args(ctx, ["list", *args] if bare else args)


def listing(about: str) -> typer.Typer:
    """A group of commands of which `list` is meant where none is named."""
    told = f"{about} Without a command, this is `list`."
    return typer.Typer(cls=_ListsUnlessTold, subcommand_metavar="[COMMAND] [ARGS]...", rich_markup_mode=None, help=told)


def make_candor(home: Path | None, **overrides: Any) -> Candor:
    """Candor with its settings. Raises SettingsError."""
    from api.bootstrap import Candor
    from api.settings import load_settings

    return Candor(load_settings(home, **overrides))


def make_console() -> Console:
    """Where tables and answers are shown: standard output."""
    from rich.console import Console

    return Console(highlight=False)


def not_empty(text: str, what: str) -> str:
    """The text itself. Raises UsageError if there is nothing in it."""
    if not text.strip():
        raise UsageError(f"The {what} is empty; write one, in quotation marks.")
    return text


def edited(entry: EntryT, file: Path | None, kind: type[EntryT]) -> EntryT:
    """What a file makes of an entry, or the person in their editor. Raises AgentError, UsageError."""
    import click

    from multi_agent.catalog.store import as_toml, read_file, read_toml

    if file:
        changed = read_file(file, kind)
    else:
        written = click.edit(as_toml(entry), extension=".toml")
        if written is None:
            raise UsageError("Nothing was saved in the editor; nothing is changed.")
        changed = read_toml(written, kind, "What was written")
    if changed.name != entry.name:
        raise UsageError(f"That describes {changed.name!r}, not {entry.name!r}: an entry keeps its name.")
    return changed


def plain(value: Any) -> Any:
    """A value as JSON takes it."""
    return value.model_dump(mode="json")


def show_list(found: Sequence[Any], columns: Sequence[str], rows: Sequence[Sequence[Any]], as_json: bool) -> None:
    """What there is: in a table with these columns, or as JSON with all that is known of each."""
    if as_json:
        print_json([plain(each) for each in found])
        return
    from api.cli.render.terminal import show_table

    show_table(make_console(), columns, rows)


def print_json(value: Any) -> None:
    """One JSON value, to standard output."""
    print(json.dumps(value, ensure_ascii=False, indent=2))


def tell_written(path: Path, told: str, as_json: bool) -> None:
    """That a file was written: as JSON with its path, or in the words of the command."""
    if as_json:
        print_json({"written": str(path)})
    else:
        say(told)


def say(text: str) -> None:
    """A message for a person, to standard error."""
    print(text, file=sys.stderr)
