"""Disk space and disk errors of the embedded store, and the file with the specification of a collection."""

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import ValidationError

from vectorstore.errors import StoreUnavailable
from vectorstore.models import CollectionSpec, UnreadableCollection


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


SPEC = "collection.json"
ANALYSIS_FILE = "analysis"


def collections_in(folder: Path) -> list[Path]:
    """Return the folders of the complete collections, by name."""
    with disk_errors(folder):
        if not folder.exists():
            return []
        return sorted(path for path in folder.iterdir() if (path / SPEC).exists())


def list_one(path: Path) -> CollectionSpec | UnreadableCollection:
    """Return the specification of a collection, or why it cannot be read."""
    try:
        return read_spec(path)
    except StoreUnavailable as error:
        return UnreadableCollection(name=path.name, reason=str(error))


def read_spec(path: Path) -> CollectionSpec:
    """Return the specification of a collection. Raises StoreUnavailable."""
    try:
        with disk_errors(path):
            return CollectionSpec.model_validate_json((path / SPEC).read_bytes())
    except ValidationError as error:
        raise StoreUnavailable(f"{str(path / SPEC)!r} is not a valid collection specification: {error}") from error


def read_analysis(path: Path) -> str:
    """Return the version of the analysis of the indexed words; empty for collections of earlier versions."""
    with disk_errors(path):
        file = path / ANALYSIS_FILE
        return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def write_text(target: Path, text: str) -> None:
    """Write a file atomically, also across a power cut."""
    part = target.with_name(f"{target.name}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(target)
