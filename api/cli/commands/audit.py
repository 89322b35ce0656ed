"""``candor audit``: the audit log of the service."""

from typing import Annotated

import typer

from api.cli.common import Cli, collection_option, command_group

app = command_group("audit", "List or prune the audit log of the service.")


@app.command("list")
def list_all(
    cli: Cli,
    key: Annotated[str | None, typer.Option("--key", help="Only entries of the key with this id.")] = None,
    collection: Annotated[str | None, collection_option("Only entries about this collection.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Only entries with this text in route or target.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="Number of entries.")] = 50,
) -> None:
    """List who read or changed what, when and from where, newest first.

    Example: candor audit --collection papers --limit 20
    """
    from api.auth.audit import AuditQuery
    from api.cli.render.diagnosis import show_audit

    query = AuditQuery(key=key, collection=collection, text=text, limit=limit)
    cli.show(cli.make_candor().audit.list(query), show_audit)


@app.command()
def prune(
    cli: Cli, older_than: Annotated[int, typer.Option("--older-than", min=1, help="Delete entries older than N days.")]
) -> None:
    """Delete old entries. The audit log records the deletion.

    `candor serve` also does this every day, with the number of days in the setting service.audit_days.

    Example: candor audit prune --older-than 90
    """
    pruned = cli.make_candor().audit.prune(older_than, cli.caller.name)
    cli.print_result({"pruned": pruned}, f"Deleted {pruned} entries.")
