"""``candor move``: copy the database and the collections to servers, or back into files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Cli, command, print_message
from api.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from api.services.move.move import MoveProgress, MoveReport
    from api.settings import Settings

app = command()

_FILES = "files"


@app.command()
def move(
    cli: Cli,
    to_database: Annotated[
        str | None,
        typer.Option("--to-database", metavar="URL", help="URL of an empty Postgres database, or `files` for SQLite."),
    ] = None,
    to_store: Annotated[
        str | None,
        typer.Option("--to-store", metavar="URL", help="URL of a Qdrant server, or `files` for the data folder."),
    ] = None,
) -> None:
    """Copy the database and the collections to servers, or back into the data folder.

    Nothing is embedded again, and the source is not changed. Stop the service first. If the command is interrupted, the
    same command completes the copy. Uploads stay in the data folder. A server's API key is CANDOR_STORE__API_KEY.

    Example: candor move --to-database postgresql+psycopg://candor@db/candor --to-store http://qdrant:6333
    """
    from api.bootstrap import Candor
    from api.jobs.queue import no_service
    from api.services.move.move import Move, MoveTarget

    if not (to_database or to_store):
        raise UsageError("Name a target with --to-database, --to-store or both.")
    source = cli.make_candor()
    moved = _target_settings(source.settings, to_database, to_store)
    target = Candor(moved)
    chosen = MoveTarget(
        name=f"{to_database} {to_store}",
        engine=target.engine if to_database else None,
        store=target.store if to_store else None,
    )
    engines = [source.engine, *([target.engine] if to_database else [])]
    with no_service(source.settings, engines):
        report = Move(source.engine, source.store, chosen, source.settings.home).run(show_progress(quiet=cli.as_json))
    cli.print_result(report, "\n".join(_told(report, to_database, to_store)))


def _target_settings(settings: Settings, database: str | None, store: str | None) -> Settings:
    """Return the settings with which Candor uses the copy. Raises UsageError if they are those of the source."""
    from pydantic import SecretStr

    moved = settings
    if database:
        url = None if database == _FILES else SecretStr(database)
        if url == settings.database_url:
            raise UsageError("The database is already there. Name another one with --to-database.")
        moved = moved.model_copy(update={"database_url": url})
    if store:
        address = None if store == _FILES else store
        if address == settings.store.url:
            raise UsageError("The collections are already there. Name another place with --to-store.")
        moved = moved.model_copy(update={"store": settings.store.model_copy(update={"url": address})})
    return moved


def show_progress(*, quiet: bool) -> MoveProgress:
    """Return callbacks that print a line for each table, and for each tenth of a collection."""
    from api.services.move.collections import OnPassages
    from api.services.move.move import MoveProgress
    from base.counts import count

    def on_table(name: str, rows: int) -> None:
        if rows and not quiet:
            print_message(f"  {name}: {count(rows, 'row')}")

    def on_collection(name: str) -> OnPassages:
        shown = -1

        def on_passages(done: int, total: int) -> None:
            nonlocal shown
            if (tenth := 10 * done // total) > shown and not quiet:
                shown = tenth
                print_message(f"  collection {name}: {done:,} of {count(total, 'passage')}")

        return on_passages

    return MoveProgress(on_table, on_collection)


def _told(report: MoveReport, database: str | None, store: str | None) -> Iterator[str]:
    from base.counts import count

    passages = sum(report.collections.values())
    yield (
        f"Copied {count(report.rows, 'row')} of the database and {count(len(report.collections), 'collection')} with "
        f"{count(passages, 'passage')}, and compared them. The source is unchanged."
    )
    for variable, chosen in (("CANDOR_DATABASE_URL", database), ("CANDOR_STORE__URL", store)):
        if chosen == _FILES:
            yield f"To use the copy, unset {variable}, also in candor.toml."
        elif chosen:
            yield f"To use the copy, set {variable} to the URL that you gave."
