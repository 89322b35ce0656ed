"""The lock of an embedded collection, which records its owner.

Only one process may open a collection. Qdrant Edge detects a second process too late. By then it has changed files, and
the next flush of the first process fails.
"""

import json
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from vectorstore.errors import CollectionLocked

_REMEDY = (
    "Commands can use collections at the same time through `candor serve`, and through a Qdrant server (the vector "
    "store's `url` setting)."
)


class CollectionLock:
    """Locks the collection at ``path`` until ``release``. Raises CollectionLocked, which names the owner.

    The operating system releases the lock when its process dies. The files ``NAME.lock`` and ``NAME.owner`` are next to
    the collection's folder and not inside it, because dropping a collection must not delete a lock that another process
    waits for.
    """

    def __init__(self, path: Path) -> None:
        self._owner = path.with_name(f"{path.name}.owner")
        # The lock is not thread-local, because another thread may close the collection. It is not a soft lock, because
        # a soft lock outlives a killed process. On a file system without locks, opening fails with an OSError.
        self._lock = FileLock(path.with_name(f"{path.name}.lock"), thread_local=False, fallback_to_soft=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise CollectionLocked(_message(path, self._owner)).with_command(_REMEDY) from error
        self._owner.write_text(json.dumps(_current_process()), encoding="utf-8")

    def release(self) -> None:
        """Release the lock. May be called again."""
        if self._lock.is_locked:
            self._owner.unlink(missing_ok=True)
            self._lock.release()


def _current_process() -> dict[str, object]:
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return {"pid": os.getpid(), "command": command, "since": datetime.now(UTC).isoformat(timespec="seconds")}


def _message(path: Path, owner: Path) -> str:
    return (
        f"Collection {path.name!r} in {str(path.parent)!r} is in use by {_describe_owner(owner)}. An embedded "
        "collection can be open in one process only. Wait for that process or end it."
    )


def _describe_owner(owner: Path) -> str:
    try:
        process = json.loads(owner.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # the owner has just acquired the lock and not written its name yet
        return "another process"
    same = " (this process)" if process["pid"] == os.getpid() else ""
    return f"process {process['pid']}{same}, `{process['command']}`, since {process['since']}"
