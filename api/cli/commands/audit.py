"""``candor audit``: the audit log of the service."""

from typing import Annotated

import typer

from api.cli.common import Cli, collection_option, command_group

app = command_group("audit", "List the audit log of the service.")


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
