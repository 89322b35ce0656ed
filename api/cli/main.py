"""The ``candor`` command, which finds and runs commands and converts errors to messages and exit codes.

Modules in ``api/cli/commands`` are discovered automatically. Each defines ``app`` with ``command()`` or
``command_group()`` of ``api/cli/common.py``, whose commands have the options `--json` and `--home`. A folder that
defines ``GROUP`` is a group. Results go to standard output, everything else to standard error. Commands import heavy
modules inside their functions, so that ``candor --help`` stays fast.
"""

import errno
import importlib
import io
import os
import pkgutil
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import typer
from typer.main import get_command, get_command_from_info, get_command_name, get_group

from api.cli import commands
from api.cli.common import INTERRUPTED, Home, command_group, expected_errors, print_error, print_message, print_text
from api.cli.given import require_encoding
from api.errors import UsageError, command_message
from base.installation import own_version
from ingest.ledger.interrupts import is_interrupted


def _print_version(wanted: bool) -> None:
    if wanted:
        print_text(f"candor {own_version()}")
        raise typer.Exit


def make_app() -> typer.Typer:
    """Build the command line: single commands first, then groups, each in alphabetical order."""
    app = typer.Typer(
        name="candor",
        help="Cited, checked and explained answers from your own documents.\n\n"
        'Start with `candor demo`, or with `candor ask "QUESTION" FOLDER`.',
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    app.callback()(_global_options)
    found = list(_find_apps(commands))
    single = (each for module in found if not module.info.name for each in module.registered_commands)
    app.registered_commands = sorted(single, key=lambda each: str(each.name or getattr(each.callback, "__name__", "")))
    for group in sorted((each for each in found if each.info.name), key=lambda each: str(each.info.name)):
        app.add_typer(group)
    return app


def _global_options(
    _: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and exit.")
    ] = False,
    config: Annotated[
        Path | None, typer.Option("--config", help="Settings file (CANDOR_CONFIG).", show_default=False)
    ] = None,
    home: Home = None,
) -> None:
    """Options of the program itself. The help text is that of the app."""
    if config:
        from api.settings import use_config

        use_config(config)


def _find_apps(package: ModuleType) -> Iterator[typer.Typer]:
    """Yield the app of every module and group of a package and its folders."""
    for found in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"{package.__name__}.{found.name}")
        if not found.ispkg:
            yield module.app
        elif summary := getattr(module, "GROUP", ""):
            group = command_group(found.name, summary)
            for app in _find_apps(module):
                group.add_typer(app)
            yield group
        else:
            yield from _find_apps(module)


class _Commands(dict[str, Any]):
    """The commands of a group by name. Each command is built on first access: building all of them takes 0.3 s."""

    def __getitem__(self, name: str) -> Any:
        found = super().__getitem__(name)
        if isinstance(found, partial):
            self[name] = found = found()
        return found

    def get(self, name: str, default: Any = None) -> Any:
        return self[name] if name in self else default  # noqa: SIM401 - dict.get does not build


def _commands_of(app: typer.Typer) -> _Commands:
    commands = _Commands()
    for each in app.registered_commands:
        name = each.name or get_command_name(getattr(each.callback, "__name__", ""))
        commands[name] = partial(get_command_from_info, each, pretty_exceptions_short=True, rich_markup_mode=None)
    for inner in (group.typer_instance for group in app.registered_groups):
        if inner and isinstance(inner.info.name, str):
            commands[inner.info.name] = partial(_build, inner)
        elif inner:
            commands |= _commands_of(inner)
    return commands


def _build(app: typer.Typer, build: Callable[[typer.Typer], Any] = get_group) -> Any:
    """Return the command group of an app. Its commands are built on first access."""
    commands, registered = _commands_of(app), (app.registered_commands, app.registered_groups)
    app.registered_commands, app.registered_groups = [], []
    built = build(app)
    app.registered_commands, app.registered_groups = registered
    built.commands = commands
    return built


_command = cache(lambda: _build(make_app(), get_command))  # cached, because tests call `main` often


def main() -> None:
    """Run the command line. Exit codes: 0 success, 1 failure, 2 wrong usage, 130 Ctrl-C. Print errors as text."""
    os.umask(0o077)  # files of the data folder, exports and logs contain documents
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that is not UTF-8 gets its unknown characters escaped
            stream.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("default", FutureWarning)  # renamed settings
            warnings.showwarning = _print_warning
            try:
                _command()(prog_name="candor")
            except (
                ValueError
            ):  # of the database or of a model; paths may have any encoding, so they are not checked first
                for argument in sys.argv[1:]:
                    require_encoding(argument, "argument " + repr(argument))
                raise
    except KeyboardInterrupt:
        raise SystemExit(INTERRUPTED) from None
    except SystemExit as error:
        raise SystemExit(INTERRUPTED if error.code and is_interrupted(error) else error.code) from None
    except UsageError as error:
        _fail(error, command_message(error), 2)
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.ENOSPC:
            try:
                print_text("")  # what failed before may be lost, so that only a new write shows the fault
            except OSError:
                with suppress(OSError):
                    sys.stdout.close()  # it holds what could not be written, and would fail again at the exit
                print_message(f"candor: Cannot write the output: {error.strerror}.")
                raise SystemExit(1) from None
            where = f" {error.filename}" if error.filename else ""
            _fail(error, f"Cannot write{where}: {error.strerror}. Free some space.", 1)
        if not isinstance(error, expected_errors()):
            raise
        _fail(error, command_message(error), 1)


def _print_warning(message: Warning | str, *_: object, **__: object) -> None:
    print_message(f"candor: warning: {message}")


def _fail(error: Exception, message: str, code: int) -> None:
    print_error(error, message, as_json="--json" in sys.argv)
    sys.exit(code)


if __name__ == "__main__":
    main()
