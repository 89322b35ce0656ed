"""Common options, command groups, and printing of results and messages."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command
from typer.models import CommandFunctionType

from api.cli.completion import complete_collections, complete_runs
from api.errors import FileNotThere, HomeError, KeyNotFound, NotOurs, UsageError

if TYPE_CHECKING:
    from rich.console import Console

    from api.auth.permissions import Caller
    from api.bootstrap import Candor

T = TypeVar("T")
INTERRUPTED = 130  # the exit code of a command that Ctrl-C has ended


def _own_home(context: typer.Context, home: Path | None) -> Path | None:
    """Return the value of `--home` after the command, otherwise the one before the command."""
    return home or context.find_root().params.get("home")


Home = Annotated[
    Path | None, typer.Option("--home", help="Data folder (CANDOR_HOME).", show_default=False, callback=_own_home)
]


def _day(written: str) -> date:
    for form in ("%Y-%m-%d", "%Y-%m", "%Y"):
        with suppress(ValueError):
            return datetime.strptime(written, form).replace(tzinfo=UTC).date()
    raise typer.BadParameter(f"{written!r} is not a date. Write a day, month or year: 2024-01-31, 2024-01 or 2024.")


@dataclass(eq=False)
class SharedOptions:
    """The options that several commands have. ``@app.command(shares=…)`` names those of a command."""

    model: Annotated[str, typer.Option("--model", help="Named model endpoint to use ([llms.NAME]).")] = ""
    sources: Annotated[
        str | None,
        typer.Option(
            "--sources",
            help="Sources of answers, separated by commas: documents, web, tools. Default: research.sources.",
            show_default=False,
        ),
    ] = None
    documents: Annotated[
        list[str] | None,
        typer.Option(
            "--document",
            metavar="GLOB",
            help="Read only documents with this name (wildcards * and ?). Repeatable: any of the names.",
        ),
    ] = None
    folder: Annotated[
        str | None,
        typer.Option(
            "--folder",
            metavar="PATH",
            help="Read only documents in this folder, at any depth. The end of its path is sufficient.",
        ),
    ] = None
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="TYPE",
            help="Read only files of this type, as in `candor documents`. Repeatable: any type.",
        ),
    ] = None
    since: Annotated[
        date | None,
        typer.Option(
            "--since",
            parser=_day,
            metavar="DATE",
            help="Read only documents of this day or later. The date of a document is the date or period that it "
            "states, otherwise the day (UTC) of the last file change.",
        ),
    ] = None
    tags: Annotated[
        list[str] | None,
        typer.Option("--tag", metavar="TAG", help="Read only documents with this tag. Repeatable: all of the tags."),
    ] = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            "--where", metavar="NAME=VALUE", help="Read only documents with this metadata. Repeatable: all of it."
        ),
    ] = None
    latest: Annotated[
        bool,
        typer.Option(
            "--latest", help="Of several versions of a document, read only the newest. Says which are left out."
        ),
    ] = False
    max_calls: Annotated[int | None, typer.Option("--max-calls", min=1, help="Limit of model calls.")] = None
    max_tokens: Annotated[int | None, typer.Option("--max-tokens", min=1, help="Limit of tokens.")] = None
    max_seconds: Annotated[float | None, typer.Option("--max-seconds", min=0.1, help="Time limit.")] = None
    max_cost: Annotated[float | None, typer.Option("--max-cost", min=0.0001, help="Cost limit.")] = None
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON value to standard output.")] = False
    home: Home = None


class Cli(typer.Context, SharedOptions):
    """The context of a command, with the values of its shared options. It is the first parameter of every command.

    With ``as_json``, standard output gets one JSON value and no progress is shown.
    """

    @property
    def limits(self) -> dict[str, float | None]:
        """The values of ``LIMITS`` as fields of a budget."""
        calls, seconds = self.max_calls, self.max_seconds
        return {"model_calls": calls, "tokens": self.max_tokens, "seconds": seconds, "cost": self.max_cost}

    @property
    def chosen_sources(self) -> dict[str, list[str]]:
        """The value of `--sources` as a field of a request; none without the option."""
        return {} if self.sources is None else {"sources": [each.strip() for each in self.sources.split(",")]}

    def make_candor(self, *, creates: bool = False, search_process: bool = False, **overrides: Any) -> Candor:
        """Build Candor from the current settings. ``creates``: with a new data folder, too.

        Raises SettingsError, and UsageError if the data folder that the user names does not exist.
        """
        from api.bootstrap import Candor
        from api.settings import default_home, load_settings

        settings = load_settings(self.home, **overrides)
        if settings.database_url is None and not settings.home.exists() and settings.home != default_home():
            if not creates:
                raise UsageError(
                    f"There is no data folder {str(settings.home)!r}. Check --home and CANDOR_HOME. `candor ingest` "
                    "and `candor serve` create a new one."
                )
            print_message(f"New data folder: {settings.home}")
        return Candor(settings, search_process=search_process)

    @property
    def caller(self) -> Caller:
        """The user of the command, who has all rights."""
        from api.auth.permissions import LOCAL_CALLER

        return LOCAL_CALLER

    def show(self, value: Any, render: Callable[..., None], *shown: Any, **options: Any) -> None:
        """Print ``value`` as JSON, or let ``render`` print ``shown``, otherwise the value, to the console."""
        if self.as_json:
            print_json(value)
        else:
            render(make_console(), *(shown or (value,)), **options)

    def print_list(self, found: Sequence[T], columns: Sequence[str], row: Callable[[T], Sequence[Any]]) -> None:
        """Print the items as JSON with all fields, or as a table. ``row`` returns the cells of an item."""
        if self.as_json:
            print_json(found)
            return
        from api.cli.render.text import show_table

        show_table(make_console(), columns, list(map(row, found)))

    def print_result(self, value: Any, message: str) -> None:
        """Print the result of a command: a value as JSON to standard output, or the message to standard error."""
        if self.as_json:
            print_json(value)
        else:
            print_message(message)

    def write(self, file: Path, content: str | bytes, message: str = "", *, new: bool = False) -> None:
        """Write a file. Print its path as JSON, or the message. ``new``: the file must not exist. Raises UsageError."""
        write_file(file, content, new=new)
        self.print_written(file, message or f"Wrote {file}.")

    def print_written(self, path: Path, message: str) -> None:
        """Report a written file: its path as JSON, or the message."""
        self.print_result({"written": str(path)}, message)


LIMITS = frozenset({"max_calls", "max_tokens", "max_seconds", "max_cost"})
FILTERS = frozenset({"folder", "types", "since", "tags", "where"})
"""Options that select documents by other things than their names."""


class Command(TyperCommand):
    """A command with the options `--json` and `--home`, and those that ``@app.command(shares=…)`` names."""

    context_class = Cli
    shared: ClassVar = frozenset({"as_json", "home"})

    def __init__(self, *args: Any, params: Sequence[Any], **options: Any) -> None:
        params = [*params, *(each for each in _shared_options() if each.name in self.shared)]
        super().__init__(*args, params=params, **options)

    def invoke(self, ctx: Any) -> Any:  # Typer's context type is private
        for name in self.shared:
            setattr(ctx, name, ctx.params.pop(name))
        return super().invoke(ctx)


class CommandWithoutJson(Command):
    """A command that writes a protocol to standard output, so it has no `--json`."""

    shared: ClassVar = frozenset({"home"})


@cache
def _shared_options() -> Sequence[Any]:
    app = typer.Typer(add_completion=False)
    app.command()(SharedOptions)
    return get_command(app).params


Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask for confirmation.")]
Details = Annotated[bool, typer.Option("--details", help="List each file that failed or was left out.")]
Exclude = Annotated[
    list[str] | None, typer.Option("--exclude", help="Leave out what matches (syntax of .gitignore). Repeatable.")
]
Include = Annotated[
    list[str] | None, typer.Option("--include", help="Read what matches although a rule leaves it out. Repeatable.")
]
DocumentName = Annotated[str, typer.Argument(help="Document id or a prefix of it, path, or name.")]
Now = Annotated[bool, typer.Option("--now", help="Delete permanently instead of moving to the bin.")]


def collection_option(text: str) -> Any:
    """Return the option `--collection` with this help text. Shells complete its value."""
    return typer.Option("--collection", "-c", help=text, autocompletion=complete_collections)


CollectionOption = Annotated[str | None, collection_option("Collection. Required if there are several.")]
CollectionsOption = Annotated[
    list[str] | None,
    collection_option("Collection. Repeat it for several; '*' means all. Required if there are several."),
]
AgentOption = Annotated[str, typer.Option("--agent", help="Ask only this agent.")]
RunId = Annotated[str, typer.Argument(help="Run id, or a unique prefix of it.", autocompletion=complete_runs)]


def selection(collections: list[str] | None) -> str | None:
    """Return the values of ``CollectionsOption`` as one selection."""
    from api.services.documents.selection import join

    joined: str | None = join(collections)
    return joined


_DELETING = ("rm", "remove", "delete", "drop")  # a group has one of these commands, and all of the words name it


class _ListByDefault(TyperGroup):
    """A command group that runs its ``list`` command with the given options if no command is named."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        words = _DELETING if cmd_name in _DELETING else (cmd_name,)
        return next((self.commands[word] for word in (cmd_name, *words) if word in self.commands), None)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:  # Typer's context type is private
        bare = not args or (args[0].startswith("-") and args[0] not in ctx.help_option_names)
        return super().parse_args(ctx, ["list", *args] if bare else args)


class _App(typer.Typer):
    """An app whose commands are of the class ``Command``."""

    def command(
        self, *args: Any, cls: Any = Command, shares: Collection[str] = (), **options: Any
    ) -> Callable[[CommandFunctionType], CommandFunctionType]:
        cls = type(cls.__name__, (cls,), {"shared": cls.shared | set(shares)}) if shares else cls
        return super().command(*args, cls=cls, **options)


def command() -> _App:
    """Build the app of a module with a top-level command."""
    return _App(rich_markup_mode=None)


def command_group(name: str, summary: str) -> _App:
    """Build the app of a command group. ``candor NAME`` without a command runs ``list``."""
    return _App(
        name=name,
        cls=_ListByDefault,
        subcommand_metavar="[COMMAND] [ARGS]...",
        rich_markup_mode=None,
        help=f"{summary} Runs `list` by default.",
    )


def confirm(question: str, *, yes: bool) -> None:
    """Ask the user, unless ``yes``. Raises Abort if the answer is no."""
    if not yes:
        typer.confirm(question, abort=True, err=True)


def make_console() -> Console:
    """Return the console for tables and answers, on standard output."""
    from api.cli.render.text import SafeConsole

    return SafeConsole(highlight=False)


def print_json(value: Any, *, indent: int | None = 2) -> None:
    """Print one JSON value, which may contain models. Characters that could act on a terminal are escaped."""
    from multi_agent.values.sources import is_unreadable

    text = json.dumps(value, default=lambda model: model.model_dump(mode="json"), ensure_ascii=False, indent=indent)
    escapes = {ord(each): json.dumps(each)[1:-1] for each in set(text) if is_unreadable(each)}
    print(text.translate(escapes) if escapes else text, flush=True)


def print_text(text: str, end: str = "\n") -> None:
    """Print text to standard output. Characters that could act on a terminal become spaces."""
    from multi_agent.values.sources import readable

    print(readable(text), end=end, flush=True)


def write_file(file: Path, content: str | bytes, *, new: bool = False) -> None:
    """Write a file; a ``new`` one must not exist. Raises UsageError."""
    try:
        with file.open("xb" if new else "wb") as opened:
            opened.write(content if isinstance(content, bytes) else content.encode())
    except OSError as error:
        raise UsageError(f"Cannot write {str(file)!r}: {error.strerror}. Name another file.") from error


def deleted(candor: Candor, what: str, *, now: bool) -> str:
    """Return the message after a deletion. It says how long the bin keeps what was deleted."""
    days = candor.settings.service.bin_days
    if now or not days:
        return f"Deleted {what} permanently."
    return f"Moved {what} to the bin for {days} days. `candor bin` lists it, `candor bin restore` restores it."


def print_message(text: str, end: str = "\n") -> None:
    """Print a message to standard error. Characters that could act on a terminal become spaces."""
    from multi_agent.values.sources import readable

    print(readable(text), end=end, file=sys.stderr, flush=True)


def expected_errors() -> tuple[type[Exception], ...]:
    """Return the error classes whose messages are for users. Other errors are bugs and are shown with a traceback."""
    from sqlalchemy.exc import SQLAlchemyError

    from ingest.errors import IngestError
    from multi_agent.errors import AgentError
    from vectorstore.errors import StoreError

    return (
        UsageError,
        FileNotThere,
        HomeError,
        KeyNotFound,
        NotOurs,
        IngestError,
        AgentError,
        StoreError,
        SQLAlchemyError,
    )


def print_error(error: Exception, message: str, *, as_json: bool, indent: int | None = 2) -> None:
    """Print the message of an error to standard error. ``as_json``: print a JSON value to standard output, too."""
    if as_json:
        print_json({"error": {"type": type(error).__name__, "message": message}}, indent=indent)
    print_message(f"candor: {message}")


def schema_lines(title: str, schema: dict[str, Any]) -> list[str]:
    """Return a title and a line per field of a JSON schema. Return no lines if it has no fields."""
    fields = schema.get("properties", {})
    lines = [f"  {name}: {_allowed(field)}{field.get('description', '')}" for name, field in fields.items()]
    return [f"{title} (`--json` has the JSON schema):", *lines] if lines else []


def _allowed(field: dict[str, Any]) -> str:
    """Return the allowed values of a field. Empty if its schema does not list them."""
    allowed = field.get("enum") or field.get("items", {}).get("enum") or ()
    return f"{' | '.join(map(str, allowed))}; " if allowed else ""
