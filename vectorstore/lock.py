"""One process per embedded collection: a lock that the operating system drops when its holder dies, and who holds it.

Qdrant Edge must never open a shard twice: its own refusal of the second comes too late, after it has changed files
under the first, whose next flush then fails.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from vectorstore.errors import CollectionLocked


class CollectionLock:
    """Holds the collection at ``path`` from construction until ``release``. Raises CollectionLocked, naming the owner.

    The files ``NAME.lock`` and ``NAME.owner`` lie beside the collection's folder: dropping the folder leaves them, so
    that nobody can hold a lock on a file that is gone.
    """

    def __init__(self, path: Path) -> None:
        self._owner = path.with_name(f"{path.name}.owner")
        # Not thread-local: the thread that closes a collection need not be the one that opened it. No soft lock, which
        # would outlive a killed process: on a file system without locks the collection is refused (an OSError).
        self._lock = FileLock(path.with_name(f"{path.name}.lock"), thread_local=False, fallback_to_soft=False)
        try:
            self._lock.acquire(timeout=0)
        except Timeout as error:
            raise CollectionLocked(_message(path, self._owner)) from error
        self._owner.write_text(json.dumps(_this_process()), encoding="utf-8")

    def release(self) -> None:
        """Let others have it. Idempotent."""
        if self._lock.is_locked:
            self._owner.unlink(missing_ok=True)
            self._lock.release()


def _this_process() -> dict[str, object]:
    command = shlex.join([Path(sys.argv[0]).name, *sys.argv[1:]])
    return {"pid": os.getpid(), "command": command, "since": datetime.now(UTC).isoformat(timespec="seconds")}


def _message(path: Path, owner: Path) -> str:
    return (
        f"Collection {path.name!r} in {str(path.parent)!r} is in use by {_owner_in_words(owner)}. An embedded "
        "collection belongs to one process: wait for that one or end it, or keep the collections in a Qdrant server "
        "(the vector store's `url` setting), which many processes can use."
    )


def _owner_in_words(owner: Path) -> str:
    try:
        who = json.loads(owner.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # the owner took the lock a moment ago and has not written its name yet
        return "another process"
    same = " (this process itself)" if who["pid"] == os.getpid() else ""
    return f"process {who['pid']}{same}, `{who['command']}`, since {who['since']}"
