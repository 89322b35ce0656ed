"""Unpacks archives and messages: writes each file inside into a folder, to be parsed as a document of its own.

Owns the limits on unpacking and the rejection of unsafe members. Names from inside a container never become paths, so
no name can lead out of the folder. Office files and books are zip archives, too, but are documents, not containers.
"""

from __future__ import annotations

import errno
import re
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import IO

from pydantic import Field

from base.models import FrozenModel
from ingest.containers.entries import DAMAGE, ENTRIES, MB, ContainerKind, Entry, Exhausted, container_kind, too_large
from ingest.errors import UnreadableFile, UnsupportedFormat

REST = "(the rest)"
"""Name of the rejected member that represents all members after the point where unpacking stopped."""

_STEP = 1 << 18
_ALWAYS_ALLOWED = 10 * MB  # of unpacked bytes, whatever the ratio
_MAX_NAME = 1000


class ContainerLimits(FrozenModel):
    """Limits on unpacking one container with all containers nested in it."""

    members: int = Field(default=10_000, gt=0)
    total_mb: int = Field(default=2048, gt=0)
    member_mb: int = Field(default=200, gt=0)
    ratio: int = Field(default=200, gt=1, description="unpacked size to packed size, from 10 MB on")
    depth: int = Field(default=3, gt=0, description="containers in containers")


class Member(FrozenModel):
    """A file in a container. ``path`` is its unpacked copy, or None if it was rejected for ``reason``."""

    name: str = Field(description="path in the container, with '/': 'inner/file.pdf', 'inner.zip/file.pdf'")
    path: Path | None = None
    reason: str = ""


def expand(path: Path, limits: ContainerLimits, folder: Path) -> Iterator[Member]:
    """Write the files in a container, and in containers nested in it, into the folder and yield them one by one.

    A problem is the ``reason`` of a member: of the member REST if the rest of the container cannot be read. Each file
    gets a folder of its own and a similar name. The caller may remove it after asking for the next one. Raises
    UnsupportedFormat if the file is not a container.
    """
    kind = container_kind(path)
    if kind is None:
        raise UnsupportedFormat(f"{path} is neither an archive nor a message.")
    yield from _Expansion(limits, folder, path.stat().st_size).expand(path, kind, prefix="", depth=1)


class _Rejected(Exception):
    """A member is not unpacked. The message is the reason."""


class _Expansion:
    """Unpacks one container with all containers nested in it. The limits apply to them together."""

    def __init__(self, limits: ContainerLimits, folder: Path, size: int) -> None:
        self._limits, self._folder = limits, folder
        self._members = 0
        self._bytes = 0
        self._max_bytes = min(limits.total_mb * MB, max(_ALWAYS_ALLOWED, limits.ratio * size))

    def expand(self, path: Path, kind: ContainerKind, prefix: str, depth: int) -> Iterator[Member]:
        """Yield the files in a container. ``prefix`` is added to their names."""
        seen: set[str] = set()
        try:
            with closing(ENTRIES[kind](path, self._max_bytes)) as entries:
                for entry in entries:
                    if depth > self._limits.depth:
                        raise Exhausted(f"containers are nested more than {self._limits.depth} deep")
                    try:
                        member = self._unpack(entry, prefix, seen)
                    except _Rejected as rejection:
                        yield Member(name=prefix + _printable(entry.name), reason=str(rejection))
                    else:
                        yield from self._with_nested(member, depth)
        except Exhausted as limit:
            yield Member(name=prefix + REST, reason=str(limit))
        except DAMAGE as error:
            if _is_system_error(error):
                raise UnreadableFile(f"Cannot unpack {path} in {self._folder}: {error}.") from error
            yield Member(name=prefix + REST, reason=f"the {kind} file is damaged: {_message(error)}")

    def _with_nested(self, member: tuple[str, Path], depth: int) -> Iterator[Member]:
        """Yield the file itself, if it is a document, and the files in it."""
        name, path = member
        kind = container_kind(path)
        if kind is None or kind.is_document:
            yield Member(name=name, path=path)
        if kind is not None:
            yield from self.expand(path, kind, prefix=f"{name}/", depth=depth + 1)
            if not kind.is_document:
                path.unlink(missing_ok=True)

    def _unpack(self, entry: Entry, prefix: str, seen: set[str]) -> tuple[str, Path]:
        """Write the file. Return its name and the path of the copy."""
        self._members += 1
        if self._members > self._limits.members:
            raise Exhausted(f"there are more than {self._limits.members} files in it")
        name = _safe_name(entry.name)
        if entry.refusal:
            raise _Rejected(entry.refusal)
        self._check_size(entry.size, entry.packed)
        if name in seen:
            raise _Rejected("another file has the same name")
        seen.add(name)
        path = Path(tempfile.mkdtemp(dir=self._folder)) / _file_name(name)
        try:
            with entry.open() as source, path.open("wb") as target:
                self._copy(source, target, entry.packed)
        except BaseException as error:
            path.unlink(missing_ok=True)
            path.parent.rmdir()
            if isinstance(error, NotImplementedError | RuntimeError):  # an unknown compression method
                raise _Rejected(f"it cannot be unpacked: {_message(error)}") from error
            is_packed_separately = bool(entry.packed)  # then other members may be intact
            if is_packed_separately and isinstance(error, DAMAGE) and not _is_system_error(error):
                raise _Rejected(f"it is damaged: {_message(error)}") from error
            raise
        return prefix + name, path

    def _copy(self, source: IO[bytes], target: IO[bytes], packed: int) -> None:
        written = 0
        while part := source.read(_STEP):
            written += len(part)
            self._bytes += len(part)
            if self._bytes > self._max_bytes:
                raise Exhausted(too_large(self._max_bytes))
            self._check_size(written, packed)
            target.write(part)

    def _check_size(self, size: int, packed: int) -> None:
        if size > self._limits.member_mb * MB:
            raise _Rejected(f"it is larger than {self._limits.member_mb} MB")
        if packed and size > max(_ALWAYS_ALLOWED, self._limits.ratio * packed):
            raise _Rejected(f"it unpacks to more than {self._limits.ratio} times its size, like a zip bomb")


# Names


def _safe_name(name: str) -> str:
    """Return the name with '/' between its parts. Rejects names that leave the container and invalid names."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:[\\/]", name):
        raise _Rejected("its name is an absolute path")
    if ".." in parts:
        raise _Rejected("its name leads out of the container")
    if not parts or "\0" in name or len(name) > _MAX_NAME:
        raise _Rejected("its name is empty, too long or invalid")
    if any(part.startswith(".") or part == "__MACOSX" for part in parts):
        raise _Rejected("hidden")
    return _printable("/".join(parts))


def _printable(name: str) -> str:
    """Escape unprintable characters and limit the length."""
    printable = "".join(character if character.isprintable() else repr(character)[1:-1] for character in name)
    return printable[:_MAX_NAME] or "(no name)"


def _file_name(name: str) -> str:
    """Return a name for the copy that is valid on any file system, with the same suffix."""
    path = PurePosixPath(re.sub(r"[^\w. ()\[\]+,=@~-]", "_", PurePosixPath(name).name))
    return path.stem[:50] + path.suffix[:20]


def _is_system_error(error: BaseException) -> bool:
    """Return whether the operating system failed, not the container. Libraries raise OSErrors without an errno.

    EINVAL means that the container refers to an invalid position in its file.
    """
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def _message(error: BaseException) -> str:
    return str(error) or type(error).__name__
