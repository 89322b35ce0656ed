"""The result of ``candor doctor``."""

from __future__ import annotations

from rich.console import Console
from rich.text import Text

from api.cli.render.text import show_paragraph
from api.services.doctor import Diagnosis, flatten


def show_diagnosis(console: Console, diagnosis: Diagnosis, *, settings: bool) -> None:
    """Print the checks, with a remedy for each failed check. Also print the settings if ``settings`` is true."""
    for check in diagnosis.checks:
        mark = Text("ok    ", style="green") if check.ok else Text("FAILED", style="bold red")
        console.print(mark + Text(f" {check.name}: {check.detail}", style=""), soft_wrap=True)
        if check.remedy:
            show_paragraph(console, check.remedy)
    console.print(Text(f"\nSettings file: {diagnosis.settings_file}", style="dim"), soft_wrap=True)
    if not settings:
        return
    console.print()
    for name, value in flatten(diagnosis.settings):
        console.print(Text(f"{name} = ", style="dim") + Text(str(value)), soft_wrap=True)
