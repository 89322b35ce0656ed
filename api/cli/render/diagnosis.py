"""Prints the result of ``candor doctor``, and the audit log."""

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from api.auth.audit import AuditEntry
from api.cli.render.text import INDENT, show_line, show_paragraph
from api.services.doctor import Diagnosis, flatten


def show_diagnosis(console: Console, diagnosis: Diagnosis, *, settings: bool) -> None:
    """Print the checks, with a remedy for each failed check. Also print the settings if ``settings`` is true."""
    for check in diagnosis.checks:
        mark = Text("ok    ", style="green") if check.ok else Text("FAILED", style="bold red")
        show_line(console, mark + Text(f" {check.name}: {check.detail}", style=""))
        if check.remedy:
            show_paragraph(console, check.remedy)
    show_line(console, f"\nSettings file: {diagnosis.settings_file}", "dim")
    if not settings:
        return
    console.print()
    for name, value in flatten(diagnosis.settings):
        show_line(console, Text(f"{name} = ", style="dim") + Text(str(value)))


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
