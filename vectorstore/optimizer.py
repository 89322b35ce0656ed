"""Optimizes the shard of an embedded collection in another process.

The engine holds the interpreter lock while it optimizes: 20 s for 42,000 chunks. So a child process optimizes a copy,
which then replaces the shard:

    FOLDER/papers/shard.part/   the copy, until the child process has completed it
    FOLDER/papers/shard.new/    the complete copy, until it has replaced FOLDER/papers/shard
"""

from __future__ import annotations

import os
import shutil
import signal
from multiprocessing.connection import Connection
from pathlib import Path

from vectorstore.child_process import ChildProcess
from vectorstore.disk import disk_errors
from vectorstore.errors import StoreUnavailable

_NICENESS = 5
_EXIT_TIMEOUT_S = 5.0
_BLOCK = 2**16


def optimize_copy(shard: Path) -> None:
    """Optimize a copy of the shard. Nobody may write to the shard meanwhile. Raises StoreUnavailable."""
    remove_part(shard)
    target = f"{__name__}:main"
    with ChildProcess(target, arguments=[str(shard)], nice=_NICENESS, capture_output=True) as child:
        try:
            failure = child.connections[0].recv()
        except EOFError:
            ended = child.wait(_EXIT_TIMEOUT_S)
            failure = _failure(shard, f"its process ended ({ended}). {child.last_output_line()}".strip())
    if failure:
        remove_part(shard)
        raise StoreUnavailable(failure)


def use_copy(shard: Path) -> None:
    """Replace the shard, which must be closed, by the copy of ``optimize_copy``."""
    _part(shard).rename(_new(shard))
    complete_replacement(shard)


def complete_replacement(shard: Path) -> None:
    """Complete a replacement, including one that was interrupted."""
    new = _new(shard)
    if new.exists():
        shutil.rmtree(shard, ignore_errors=True)
        new.rename(shard)


def remove_part(shard: Path) -> None:
    """Delete an unused copy."""
    if _part(shard).exists():
        shutil.rmtree(_part(shard))


def main(connection: Connection, folder: str) -> None:
    """Run in the child process. Send the reason of a failure, or an empty text."""
    for number in (signal.SIGINT, signal.SIGTERM):  # may be sent to the whole program; this process ends with it
        signal.signal(number, signal.SIG_IGN)
    try:
        _optimize(Path(folder))
    except StoreUnavailable as error:
        connection.send(str(error))
    else:
        connection.send("")


def _optimize(shard: Path) -> None:
    import qdrant_edge as qdrant

    part = _part(shard)
    with disk_errors(part):
        shutil.copytree(shard, part, copy_function=_copy_sparse)
        try:
            copy = qdrant.EdgeShard.load(str(part))
            copy.optimize()
            copy.flush()
            copy.close()
        except Exception as error:
            if type(error) is not Exception:  # the engine's own errors
                raise
            raise StoreUnavailable(_failure(shard, str(error))) from error
        _write_through(part)


def _copy_sparse(source: str, target: str) -> None:
    """Copy a file as a sparse file. The engine allocates files of 32 MiB, which are mostly zeros."""
    with open(source, "rb") as read, open(target, "wb") as written:
        while block := read.read(_BLOCK):
            if block.strip(b"\0"):
                written.write(block)
            else:
                written.seek(len(block), os.SEEK_CUR)
        written.truncate()


def _write_through(folder: Path) -> None:
    """Flush all files to disk with fsync."""
    for path in (folder, *folder.rglob("*")):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _failure(shard: Path, reason: str) -> str:
    return f"Could not optimize collection {shard.parent.name!r} in {str(shard.parent.parent)!r}: {reason}"


def _part(shard: Path) -> Path:
    return shard.with_name(f"{shard.name}.part")


def _new(shard: Path) -> Path:
    return shard.with_name(f"{shard.name}.new")
