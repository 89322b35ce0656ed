"""The runs that commands execute in this data folder: which of them were interrupted, and how others cancel them.

Such a run has a lock file while a process works on it. The operating system releases the lock of a killed process, but
its file stays, so a file with a free lock means an interrupted run. Runs of the service have jobs instead.
"""

import asyncio
import time
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from api.errors import NotOurs
from multi_agent.errors import RunUnderWay
from multi_agent.storage.run_filter import RunState
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.answer import Answer, Status

T = TypeVar("T")

_POLL_S = 0.25
_PROBE_S = 2.0
"""Time in which another process may hold the lock only to see whether it is free."""
_CANCEL_S = 30.0
"""Time that a process has to end a cancelled run. Longer than the finish of a model call takes."""
CANCELLED = "The run was cancelled."


class CommandRuns:
    """The lock files in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextmanager
    def hold(self, run_id: str) -> Iterator[None]:
        """Mark the run as one that this process works on. Raises RunUnderWay if another process does."""
        self._folder.mkdir(parents=True, exist_ok=True)
        lock = self._lock(run_id)
        try:
            lock.acquire(timeout=_PROBE_S)
        except Timeout as error:
            raise RunUnderWay(f"Another process works on run {run_id!r}.") from error
        try:
            yield
        finally:
            self._forget(run_id, lock)

    async def research(self, run_id: str, research: Coroutine[None, None, T]) -> T:
        """Await the research. A call of ``cancel`` in any process cancels the task that awaits it."""
        watching = asyncio.create_task(self._cancel_when_asked(run_id, asyncio.current_task()))
        try:
            return await research
        finally:
            watching.cancel()

    def run(self, run_id: str, research: Coroutine[None, None, Answer], trace: Trace) -> Answer:
        """Run the research in an event loop of its own. A run that Ctrl-C or ``cancel`` ended has an answer, too."""
        with self.hold(run_id):
            try:
                return asyncio.run(self.research(run_id, research))
            except (KeyboardInterrupt, asyncio.CancelledError):
                return trace.answer(run_id)

    def interrupted(self) -> Iterator[str]:
        """Yield the ids of the runs whose process ended before them, each once."""
        for path in self._folder.glob("*.lock"):
            lock = self._lock(path.stem)
            with suppress(Timeout):
                lock.acquire(timeout=0)
                yield path.stem
                self._forget(path.stem, lock)

    def cancel(self, trace: Trace, run: RunSummary) -> RunSummary:
        """Cancel a run and return its state. A run that has ended stays unchanged. Blocks until the run has ended.

        Raises NotOurs for a run of the service or of another data folder, RunUnderWay if its process does not react.
        """
        if run.status == RunState.INTERRUPTED:
            trace.abort(run.run_id, Status.CANCELLED, CANCELLED)
        elif not run.ended:
            self._ask_to_cancel(trace, run.run_id)
        return trace.run(run.run_id)

    def _ask_to_cancel(self, trace: Trace, run_id: str) -> None:
        if not self._path(run_id, "lock").exists():
            error = NotOurs(f"Run {run_id!r} belongs to a service or to a command with another data folder.")
            raise error.with_command(f"`POST /v1/runs/{run_id}/cancel` cancels a run of the service.")
        asked, deadline = self._path(run_id, "cancel"), time.monotonic() + _CANCEL_S
        asked.touch()
        while not (run := trace.run(run_id)).ended:
            if run.status == RunState.INTERRUPTED:  # it was killed meanwhile
                trace.abort(run_id, Status.CANCELLED, CANCELLED)
            elif time.monotonic() > deadline:
                raise RunUnderWay(f"The process of run {run_id!r} has not ended it yet, but will when it can.")
            time.sleep(_POLL_S)
        asked.unlink(missing_ok=True)

    async def _cancel_when_asked(self, run_id: str, task: asyncio.Task[T] | None) -> None:
        while not self._path(run_id, "cancel").exists():  # noqa: ASYNC110 (another process creates it)
            await asyncio.sleep(_POLL_S)
        if task:
            task.cancel()

    def _forget(self, run_id: str, lock: FileLock) -> None:
        """Delete the lock files, then release the lock. In the other order, the run would look interrupted."""
        for suffix in ("cancel", "lock"):
            self._path(run_id, suffix).unlink(missing_ok=True)
        lock.release()

    def _lock(self, run_id: str) -> FileLock:
        return FileLock(self._path(run_id, "lock"), thread_local=False, fallback_to_soft=False)

    def _path(self, run_id: str, suffix: str) -> Path:
        return self._folder / f"{run_id}.{suffix}"
