"""Files that were uploaded: where they lie, what they may be named, and how they come and go.

    HOME/uploads/papers/reports/2024.pdf      a file of the collection `papers`, under the name that its sender gave it
    HOME/uploads/.incoming/123-8f3a…/0        what is being received, by the process that receives it

A file takes its place only when its whole upload is there; what is under way is removed with the process.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import psutil

from api.errors import HomeError, UsageError

_INCOMING = ".incoming"  # no collection is named so
_LONGEST_PART = 255  # bytes; what file systems take
_LONGEST = 1000


class Uploads:
    """The uploaded files of a home folder. Calls block."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "uploads"

    def folder(self, collection: str) -> Path:
        """Where the files of a collection lie; it need not be there."""
        return self._folder / collection

    def holds(self, collection: str, path: Path) -> bool:
        """Whether the file was uploaded into the collection, and is Candor's own copy."""
        return path.is_relative_to(self.folder(collection))

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """A folder to receive files into; whatever is left in it goes with the end of the block."""
        with _disk(self._folder):
            (self._folder / _INCOMING).mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=f"{os.getpid()}-", dir=self._folder / _INCOMING))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def accept(self, collection: str, received: Mapping[PurePosixPath, Path]) -> list[Path]:
        """Give received files their places, by their names; one that was there under the same name is replaced.

        Raises UsageError if a name is that of a folder, before any file takes its place.
        """
        folder = self.folder(collection)
        for name in received:
            _check_place(folder, name)
        with _disk(folder):
            return [self._accepted(folder / name, path) for name, path in received.items()]

    def remove(self, path: Path) -> None:
        """Delete an uploaded file, and the folders that are empty without it."""
        with _disk(path):
            path.unlink(missing_ok=True)
        for folder in path.parents:
            if folder == self._folder or not folder.is_relative_to(self._folder):
                return
            try:
                folder.rmdir()
            except OSError:  # there are others in it
                return

    def drop(self, collection: str) -> None:
        """Delete all files of a collection."""
        with _disk(self.folder(collection)), suppress(FileNotFoundError):
            shutil.rmtree(self.folder(collection))

    def clear(self) -> None:
        """Remove what processes left that were killed while they received it."""
        for folder in (self._folder / _INCOMING).glob("*-*"):
            if not psutil.pid_exists(int(folder.name.partition("-")[0])):
                shutil.rmtree(folder, ignore_errors=True)

    @staticmethod
    def _accepted(place: Path, received: Path) -> Path:
        place.parent.mkdir(parents=True, exist_ok=True)
        received.replace(place)
        return place


def safe_name(name: str) -> PurePosixPath:
    """The name of an uploaded file with its folders, if it can have that name here. Raises UsageError.

    The same name in another Unicode normalization, as other systems write it, is the same.
    """
    path = unicodedata.normalize("NFC", name).replace("\\", "/")
    parts = path.split("/")
    fault = next((fault for part in parts if (fault := _fault(part))), "")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        fault = "it is an absolute path"
    if len(path) > _LONGEST:
        fault = f"it has more than {_LONGEST} characters"
    if fault:
        raise UsageError(f"A file cannot be uploaded as {name[:_LONGEST]!r}: {fault}. Name it otherwise.")
    return PurePosixPath(*parts)


def _fault(part: str) -> str:
    """What is wrong with a part of a name; empty if nothing is."""
    if not part.strip():
        return "a part of it is empty"
    if part == "..":
        return "it leads out of its folder"
    if part.startswith("."):
        return "hidden files, whose names begin with '.', are not ingested"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in part):
        return "it has characters in it that no name has"
    if len(part.encode()) > _LONGEST_PART:
        return f"a part of it has more than {_LONGEST_PART} bytes"
    return ""


def _check_place(folder: Path, name: PurePosixPath) -> None:
    taken = next((parent for parent in name.parents if (folder / parent).is_file()), None)
    if taken is not None or (folder / name).is_dir():
        other = f"the file {str(taken)!r}" if taken else "a folder"
        raise UsageError(f"{str(name)!r} cannot be stored: there is {other} of that name. Name it otherwise.")


@contextmanager
def _disk(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise HomeError(
            f"Uploaded files cannot be stored in {str(path)!r}: {error.strerror or error}. Free some space there, or "
            "mend its rights."
        ) from error
