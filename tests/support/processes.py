"""Find child processes."""

from __future__ import annotations

import psutil

from support.forking import templates


def live_children(module: str, of: int | None = None) -> list[psutil.Process]:
    """Return the live children of a process (default: this one) that run a Python module.

    Leave out children that exit during the search, and the processes that fork, which have the same command line.
    """

    def runs(child: psutil.Process) -> bool:
        try:
            return child.status() != psutil.STATUS_ZOMBIE and any(module in part for part in child.cmdline())
        except psutil.NoSuchProcess:
            return False

    forking = {template.process.pid for template in templates.values()}
    return [child for child in psutil.Process(of).children() if child.pid not in forking and runs(child)]
