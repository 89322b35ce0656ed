"""Takes archives and messages apart: each file in one is written into a folder, to be parsed as a document of its own.

Owns the limits on what comes out, and what is refused: nothing is ever written under a name from inside an archive, so
no name can lead out of the folder. Office files and books, which are zip archives too, are documents and no containers.
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

from ingest.containers.entries import DAMAGE, ENTRIES, MB, ContainerKind, Entry, Exhausted, container_kind, too_much
from ingest.errors import UnreadableFile, UnsupportedFormat
from vectorstore.models import FrozenModel

REST = "(the rest)"
"""Name of the refused member that stands for all that was not looked at any more."""

_STEP = 1 << 18
_UNSUSPICIOUS = 10 * MB  # whatever the ratio, this much may come out
_LONGEST_NAME = 1000


class ContainerLimits(FrozenModel):
    """How much may come out of one container, those nested in it included."""

    members: int = Field(default=10_000, gt=0)
    total_mb: int = Field(default=2048, gt=0)
    member_mb: int = Field(default=200, gt=0)
    ratio: int = Field(default=200, gt=1, description="unpacked size to packed size, from 10 MB on")
    depth: int = Field(default=3, gt=0, description="containers in containers")


class Member(FrozenModel):
    """A file in a container: ``path`` is where it was written, or None with the ``reason`` why it was refused."""

    name: str = Field(description="where it lies in the container, with '/': 'inner/file.pdf', 'inner.zip/file.pdf'")
    path: Path | None = None
    reason: str = ""


def expand(path: Path, limits: ContainerLimits, folder: Path) -> Iterator[Member]:
    """Write the files in a container into the folder, one by one, and those of containers in it.

    Whatever goes wrong is said of a member, of the member REST if the container cannot be read on. Each file lies in a
    folder of its own, under a name like its own; the caller may remove it once the next one is asked for. Raises
    UnsupportedFormat if the file is no container.
    """
    kind = container_kind(path)
    if kind is None:
        raise UnsupportedFormat(f"{path} is neither an archive nor a message.")
    yield from _Expansion(limits, folder, path.stat().st_size).expand(path, kind, prefix="", depth=1)


class _Refused(Exception):
    """A member that is not taken out; the message says why."""


class _Expansion:
    """One container with all that is nested in it: the limits are for them together."""

    def __init__(self, limits: ContainerLimits, folder: Path, size: int) -> None:
        self._limits = limits
        self._folder = folder
        self._members = 0
        self._bytes = 0
        self._most_bytes = min(limits.total_mb * MB, max(_UNSUSPICIOUS, limits.ratio * size))

    def expand(self, path: Path, kind: ContainerKind, prefix: str, depth: int) -> Iterator[Member]:
        """The files in a container, each with its name after the prefix."""
        seen: set[str] = set()
        try:
            with closing(ENTRIES[kind](path, self._most_bytes)) as entries:
                for entry in entries:
                    if depth > self._limits.depth:
                        raise Exhausted(f"containers are nested more than {self._limits.depth} deep")
                    try:
                        member = self._take(entry, prefix, seen)
                    except _Refused as refusal:
                        yield Member(name=prefix + _shown(entry.name), reason=str(refusal))
                    else:
                        yield from self._with_nested(member, depth)
        except Exhausted as end:
            yield Member(name=prefix + REST, reason=str(end))
        except DAMAGE as error:
            if _is_of_system(error):
                raise UnreadableFile(f"{path} cannot be taken apart in {self._folder}: {error}.") from error
            yield Member(name=prefix + REST, reason=f"the {kind} file is damaged: {_said(error)}")

    def _with_nested(self, member: tuple[str, Path], depth: int) -> Iterator[Member]:
        """The file itself, if it is a document, and those in it."""
        name, path = member
        kind = container_kind(path)
        if kind is None or kind.is_document:
            yield Member(name=name, path=path)
        if kind is not None:
            yield from self.expand(path, kind, prefix=f"{name}/", depth=depth + 1)
            if not kind.is_document:
                path.unlink(missing_ok=True)

    def _take(self, entry: Entry, prefix: str, seen: set[str]) -> tuple[str, Path]:
        """Write the file; its name and where it lies now."""
        self._members += 1
        if self._members > self._limits.members:
            raise Exhausted(f"there are more than {self._limits.members} files in it")
        name = _safe(entry.name)
        if entry.refusal:
            raise _Refused(entry.refusal)
        self._check_size(entry.size, entry.packed)
        if name in seen:
            raise _Refused("there is another file of that name in it")
        seen.add(name)
        path = Path(tempfile.mkdtemp(dir=self._folder)) / _file_name(name)
        try:
            with entry.open() as source, path.open("wb") as target:
                self._copy(source, target, entry.packed)
        except BaseException as error:
            path.unlink(missing_ok=True)
            path.parent.rmdir()
            if isinstance(error, NotImplementedError | RuntimeError):  # a method of packing that is not known
                raise _Refused(f"it cannot be unpacked: {_said(error)}") from error
            if (
                entry.packed and isinstance(error, DAMAGE) and not _is_of_system(error)
            ):  # packed by itself: the others may be sound
                raise _Refused(f"it is damaged: {_said(error)}") from error
            raise
        return prefix + name, path

    def _copy(self, source: IO[bytes], target: IO[bytes], packed: int) -> None:
        written = 0
        while part := source.read(_STEP):
            written += len(part)
            self._bytes += len(part)
            if self._bytes > self._most_bytes:
                raise Exhausted(too_much(self._most_bytes))
            self._check_size(written, packed)
            target.write(part)

    def _check_size(self, size: int, packed: int) -> None:
        if size > self._limits.member_mb * MB:
            raise _Refused(f"it is larger than {self._limits.member_mb} MB")
        if packed and size > max(_UNSUSPICIOUS, self._limits.ratio * packed):
            raise _Refused(f"it unpacks to more than {self._limits.ratio} times its size, as only bombs do")


# Names


def _safe(name: str) -> str:
    """The name with '/' between its parts. Refuses those that would lead somewhere else, or are none."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        raise _Refused("its name is an absolute path")
    if ".." in parts:
        raise _Refused("its name leads out of the container")
    if not parts or "\0" in name or len(name) > _LONGEST_NAME:
        raise _Refused("its name is empty, too long, or no name")
    if any(part.startswith(".") or part == "__MACOSX" for part in parts):
        raise _Refused("hidden")
    return _shown("/".join(parts))


def _shown(name: str) -> str:
    """The name with what cannot be shown or stored written as escapes, and not endless."""
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in name)
    return shown[:_LONGEST_NAME] or "(no name)"


def _file_name(name: str) -> str:
    """A name for the copy that any file system takes, with the same ending."""
    path = PurePosixPath(re.sub(r"[^\w. ()\[\]+,=@~-]", "_", PurePosixPath(name).name))
    return path.stem[:50] + path.suffix[:20]


def _is_of_system(error: BaseException) -> bool:
    """Whether the operating system failed, and not the container: libraries raise OSErrors without a number.

    An invalid argument is a place in the file that the container names and that cannot be.
    """
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__
