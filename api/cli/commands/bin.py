"""``candor bin``: list, restore and remove deleted items."""

from typing import Annotated

import typer

from api.cli.common import Cli, Yes, command_group, confirm, print_message
from base.counts import count
from ingest.errors import IngestError
from vectorstore.errors import StoreError

app = command_group("bin", "List, restore or remove deleted collections, documents, runs, tables and keys.")

_ENTRY = typer.Argument(help="Name or id of the deleted item, or id of its bin entry.", show_default=False)


@app.command("list")
def list_all(cli: Cli) -> None:
    """List deleted items, latest first. Each is removed permanently after `service.bin_days` days.

    Example: candor bin
    """
    bin_ = cli.make_candor().bin
    try:
        bin_.expire()
    except (StoreError, IngestError) as error:
        print_message(f"An old entry could not be removed: {error} `candor bin` tries again.")
    found = bin_.list()
    columns = ("entry", "kind", "name", "collection", "deleted (UTC)", "by", "removed on")
    cli.print_list(found, columns, lambda each: (
        each.id[:8], each.kind, each.name[:60], each.collection, f"{each.deleted_at:%Y-%m-%d %H:%M}", each.deleted_by,
        f"{each.removed_at:%Y-%m-%d}",
    ))  # fmt: skip


@app.command()
def restore(cli: Cli, entry: Annotated[str, _ENTRY]) -> None:
    """Restore a deleted item. The passages of a document are embedded again from its text.

    Example: candor bin restore papers
    """
    from ingest.pipeline.plan import IngestRequest

    candor = cli.make_candor()
    found = candor.bin.find(entry)
    if candor.bin.restore(found):
        candor.ingest.ingest(IngestRequest(collection=found.collection, repair=True))
    cli.print_result(found, f"Restored the {found.kind} {found.name}.")


@app.command()
def empty(cli: Cli, entries: Annotated[list[str] | None, _ENTRY] = None, yes: Yes = False) -> None:
    """Remove the named items permanently. Without names, remove everything in the bin.

    Example: candor bin empty papers
    """
    bin_ = cli.make_candor().bin
    found = [bin_.find(each) for each in entries] if entries else bin_.list()
    names = ", ".join(f"{each.kind} {each.name}" for each in found)
    confirm(f"Remove {names} permanently?", yes=yes or not found)
    bin_.empty(found)
    removed = f"Removed {count(len(found), 'entry', 'entries')} permanently."
    cli.print_result(found, removed if found else "The bin is empty.")
