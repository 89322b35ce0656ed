"""Disk space and disk errors of the embedded store."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vectorstore.errors import StoreUnavailable


def used_space(path: Path) -> int:
    """Return the disk space of the files in bytes. The engine's files are sparse, so it is less than their length."""
    return sum(file.stat().st_blocks * 512 for file in path.rglob("*"))


def check_space(path: Path, needed: int) -> None:
    """Raise StoreUnavailable if less than ``needed`` bytes are free for the collection at ``path``."""
    free = shutil.disk_usage(path.parent).free
    if free < needed:
        raise StoreUnavailable(
            f"The disk of {str(path.parent)!r} has {free / 2**20:,.0f} MiB free, but writing to collection "
            f"{path.name!r} safely needs {needed / 2**20:,.0f} MiB. Free some space. Stored data is kept."
        )


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
