"""The log of a chaos run: one line per event, with the seconds since the start."""

from __future__ import annotations

import threading
import time
from pathlib import Path


class Log:
    """Prints events and appends them to a file."""

    def __init__(self, file: Path) -> None:
        self._file, self._began, self._lock = file, time.monotonic(), threading.Lock()
        file.write_text("", encoding="utf-8")

    def __call__(self, event: str) -> None:
        line = f"{time.monotonic() - self._began:7.1f} s  {event}"
        with self._lock, self._file.open("a", encoding="utf-8") as file:
            print(line, flush=True)
            file.write(line + "\n")
