"""Find child processes."""

from __future__ import annotations

import psutil


def live_children(module: str, of: int | None = None) -> list[psutil.Process]:
    """Return the live children of a process (default: this one) that run a Python module.

    Leave out children that exit during the search.
    """

    def runs(child: psutil.Process) -> bool:
        try:
            return child.status() != psutil.STATUS_ZOMBIE and any(module in part for part in child.cmdline())
        except psutil.NoSuchProcess:
            return False

    return [child for child in psutil.Process(of).children() if runs(child)]
