"""``candor backup`` and ``candor restore``: the whole data folder as one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from api.cli.common import Cli, command

if TYPE_CHECKING:
    from api.services.move.backup import Manifest

app = command()


@app.command()
def backup(
    cli: Cli, file: Annotated[Path, typer.Argument(help="Archive to write (ZIP), outside of the data folder.")]
) -> None:
    """Write databases, collections with their vectors, uploads, settings and files of tools into one archive.

    A service may run. Its ingests wait until the archive is complete.

    Example: candor backup candor-2026-11-28.zip
    """
    from api.bootstrap import Candor
    from api.cli.commands.move import show_progress
    from api.services.move.backup import back_up

    candor = cli.make_candor()
    report = back_up(
        candor.settings,
        candor.engine,
        candor.store,
        lambda copies: Candor(candor.settings.model_copy(update={"home": copies})).store,
        file,
        show_progress(quiet=cli.as_json).on_collection,
    )
    _print(f"Wrote {str(file)!r}", report, cli)


@app.command()
def restore(cli: Cli, file: Annotated[Path, typer.Argument(help="Archive of `candor backup`.")]) -> None:
    """Restore an archive of `candor backup` into a new or empty data folder, after a check of all its files.

    Example: candor restore candor-2026-11-28.zip --home ~/restored
    """
    from api.services.move.backup import restore as restore_into
    from api.settings import load_settings

    target = load_settings(cli.home).home
    _print(f"Restored into {str(target)!r}", restore_into(file, target), cli)


def _print(done: str, report: Manifest, cli: Cli) -> None:
    from base.counts import count

    held = f"{count(len(report.collections), 'collection')} with {count(sum(report.collections.values()), 'passage')}"
    missing = (f"NOT in the archive: {each}" for each in report.left_out)
    cli.print_result(report, "\n".join((f"{done}: {held}.", *missing)))
