"""Index builds of an embedded collection: the count of changes since the last build, and a background thread."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from vectorstore.edge.disk import disk_errors

FILE = "changes"
_POLL_S = 0.1


class ChangeCount:
    """The count in the folder of a collection. A killed process loses what it has added since ``save``."""

    def __init__(self, folder: Path, estimate: int) -> None:
        """Read the count. ``estimate`` is the count of a collection without the file."""
        self._file = folder / FILE
        self.value = estimate
        with disk_errors(self._file):
            if self._file.exists():
                content = self._file.read_text(encoding="utf-8")
                self.value = int(content) if content.isdecimal() else estimate

    def save(self) -> None:
        """Write the count."""
        with disk_errors(self._file):
            self._file.write_text(str(self.value), encoding="utf-8")


class BackgroundWork:
    """Runs ``work`` in a thread. If it raises an error, ``on_error`` gets it and ``wait`` raises it again."""

    def __init__(self, name: str, work: Callable[[], None], on_error: Callable[[Exception], None]) -> None:
        self._name, self._work, self._on_error = name, work, on_error
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._error: Exception | None = None

    @property
    def running(self) -> bool:
        """Whether the thread is running."""
        return self._thread is not None and self._thread.is_alive()

    def start(self) -> None:
        """Start the thread unless it is running."""
        with self._lock:
            if not self.running:
                self._error = None
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()

    def wait(self, cancelled: Callable[[], bool] = lambda: False) -> None:
        """Wait until the thread ends or ``cancelled`` returns true. Raise the error of the work."""
        while self._thread and self._thread.is_alive():
            if cancelled():
                return
            self._thread.join(_POLL_S)
        if self._error:
            raise self._error

    def join(self) -> None:
        """Wait until the thread ends. Raise no error."""
        if self._thread:
            self._thread.join()

    def _run(self) -> None:
        try:
            self._work()
        except Exception as error:  # noqa: BLE001  # a thread has no caller
            self._error = error
            self._on_error(error)
