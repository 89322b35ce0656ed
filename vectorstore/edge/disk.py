"""Disk space and disk errors of the embedded store."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from vectorstore.errors import StoreUnavailable


def used_space(path: Path) -> int:
    """Return the disk space of the files in bytes. The engine's files are sparse, so it is less than their length."""
    used = 0
    for file in path.rglob("*"):
        with suppress(FileNotFoundError):  # see write_through
            used += file.stat().st_blocks * 512
    return used


def check_space(folder: Path, needed: int, what: str = "collections") -> None:
    """Raise StoreUnavailable if less than ``needed`` bytes are free on the disk of the folder."""
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise StoreUnavailable(
            f"The disk of {str(folder)!r} has {free / 2**20:,.0f} MiB free, but writing to {what} safely needs "
            f"{needed / 2**20:,.0f} MiB. Free some space. Stored data is kept."
        )


def write_through(folder: Path) -> None:
    """Flush the folder and all files in it to disk with fsync.

    Leaves out a file that is renamed meanwhile: a thread of the engine prepares the next, empty file of its log.
    """
    for path in (folder, *folder.rglob("*")):
        with suppress(FileNotFoundError):
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Raise StoreUnavailable for an OSError in the block."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(
            f"The vector store cannot use {str(path)!r}: {error.strerror or error}. Set a folder with read "
            "and write permission."
        ) from error
