"""Restricts the service to the folders that it may read, even if somebody creates links while it reads.

A path is resolved once. Then each folder of the resolved path is opened relative to its parent, without following
links. This refuses a link that somebody creates after the path was resolved.
"""

import errno
import os
from dataclasses import dataclass
from pathlib import Path

_SEARCH = getattr(os, "O_PATH", os.O_RDONLY)  # opens a folder that may be passed through, but not listed
_NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC


class Outside(PermissionError):
    """A path is outside the folders that the service may ingest from."""

    def __init__(self) -> None:
        super().__init__(errno.EPERM, "it leads out of the folders that the service may ingest from")


@dataclass(frozen=True)
class Boundary:
    """The folders that an ingest may read.

    An ingest may read ``roots`` except Candor's data folder ``own``, and the folder ``uploads``, also inside ``own``.
    """

    roots: tuple[Path, ...]
    own: Path
    uploads: Path

    def require(self, path: Path) -> None:
        """Raise Outside if the resolved path exists and is outside the folders."""
        if not self._holds(Path(os.path.realpath(path))):
            raise Outside

    def entries(self, folder: Path) -> list[Path]:
        """Return the entries of a folder. Raises Outside, OSError."""
        opened = self.open(folder)
        try:
            return [folder / name for name in os.listdir(opened)]
        finally:
            os.close(opened)

    def is_upload(self, path: Path) -> bool:
        """Return whether the file was uploaded. Only the service writes to the folder of uploads."""
        return path.is_relative_to(self.uploads)

    def open(self, path: Path, *, known: bool = False) -> int:
        """Return a descriptor of the file or folder.

        A ``known`` document may be outside the folders if no part of its path is a link. Raises Outside, OSError.
        """
        real = Path(os.path.realpath(path, strict=True))
        if not self._holds(real) and not (known and real == path and not self._is_own(real)):
            raise Outside
        try:
            return self._descend(real)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):  # somebody created a link after the path was resolved
                raise Outside from error
            raise

    def _descend(self, real: Path) -> int:
        """Open the path part by part. Does not follow links and does not enter Candor's data under another name."""
        own = None if self._is_upload_place(real) else _place(os.stat(self.own))
        folder = os.open(real.anchor, os.O_RDONLY | os.O_CLOEXEC)
        for index, part in enumerate(real.parts[1:], start=2):
            flags = os.O_RDONLY | os.O_NONBLOCK if index == len(real.parts) else _SEARCH | os.O_DIRECTORY
            try:
                inner = os.open(part, flags | _NO_LINK, dir_fd=folder)
            finally:
                os.close(folder)
            folder = inner
            if _place(os.fstat(folder)) == own:
                os.close(folder)
                raise Outside
        return folder

    def _holds(self, real: Path) -> bool:
        if self._is_upload_place(real):
            return True
        return not self._is_own(real) and any(real.is_relative_to(os.path.realpath(root)) for root in self.roots)

    def _is_own(self, real: Path) -> bool:
        return real.is_relative_to(os.path.realpath(self.own))

    def _is_upload_place(self, real: Path) -> bool:
        return real.is_relative_to(os.path.realpath(self.uploads))


def _place(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino
