"""Entries of the audit log."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from api.auth.audit import AuditEntry
from api.cli.render.text import INDENT

_STATUS_WIDTH = 3


def show_audit(console: Console, entries: Sequence[AuditEntry]) -> None:
    """Print two lines for each entry. The first has time, status, caller and address, the second the request."""
    if entries:
        console.print(Text("time (UTC)           status  who, from", style="bold"))
    for each in entries:
        status = str(each.status or "–").ljust(_STATUS_WIDTH)
        who = f"{each.name}, {each.address}" if each.address else each.name
        console.print(Text(f"{each.at:%Y-%m-%d %H:%M:%S}  {status}     {who}"))
        console.print(Text(f"{INDENT}{request_of(each)}", style="dim", overflow="fold"))


def request_of(entry: AuditEntry) -> str:
    """Return the request in one line. Omits the route if the target contains the path."""
    method, _, route = entry.action.partition(" ")
    return f"{method if route.startswith('/') else entry.action} {entry.target}"
