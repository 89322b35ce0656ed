"""The command about who did what."""

from __future__ import annotations

from typing import Annotated

import typer

from api.cli.common import Home, Json, listing, make_candor, print_json, say, show_list

app = listing("Who read or changed what over the service.")


@app.command("list")
def list_entries(
    key: Annotated[str | None, typer.Option("--key", help="Only what was done with the key with this id.")] = None,
    collection: Annotated[str | None, typer.Option("--collection", "-c", help="Only what was about it.")] = None,
    text: Annotated[str | None, typer.Option("--text", help="Only what has this in its route or its target.")] = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, max=10_000, help="The latest so many.")] = 50,
    as_json: Json = False,
    home: Home = None,
) -> None:
    """List who read or changed what over the service, when and from where, the newest first.

    Example: candor audit --collection papers --limit 20
    """
    from api.auth.audit import AuditQuery

    found = make_candor(home).audit.list(AuditQuery(key=key, collection=collection, text=text, limit=limit))
    rows = [
        (f"{each.at:%Y-%m-%d %H:%M:%S}", each.name, each.address, each.action, each.target, str(each.status))
        for each in found
    ]
    show_list(found, ("at (UTC)", "who", "from", "what", "of", "status"), rows, as_json)


@app.command()
def prune(
    older_than: Annotated[int, typer.Option("--older-than", min=1, help="Days that an entry is kept.")],
    as_json: Json = False,
    home: Home = None,
) -> None:
    """Take out what is older than so many days; that this was done stands in the audit.

    `candor serve` does so every day, by the setting service.audit_days.

    Example: candor audit prune --older-than 90
    """
    from api.auth.permissions import LOCAL_CALLER

    pruned = make_candor(home).audit.prune(older_than, LOCAL_CALLER.name)
    if as_json:
        print_json({"pruned": pruned})
    else:
        say(f"Took out {pruned} entries.")
