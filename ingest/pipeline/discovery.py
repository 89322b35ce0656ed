"""Finds the files to ingest. Walks folders in order and records a reason for every entry that it skips."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from base.models import FrozenModel
from ingest.errors import PathNotFound
from ingest.pipeline.boundary import Boundary, Outside


class FoundFile(FrozenModel):
    """A file to ingest.

    ``path`` is the path to open, ``document`` the absolute path of the file, and ``name`` the short path that is
    displayed. For a file in a container (an archive or a message), ``path`` is an extracted copy and ``container`` the
    path of the container.
    """

    path: Path
    document: str
    name: str
    container: str = ""


class SkippedFile(FrozenModel):
    """An entry of a folder that is deliberately not ingested."""

    path: str
    name: str
    reason: str


_LOCK = ("~$", ".~lock.")
_OF_FOLDERS = {"thumbs.db", "desktop.ini", "ehthumbs.db", "icon\r"}


def discover(
    paths: Sequence[Path], own: Path | None = None, base: Path | None = None, within: Boundary | None = None
) -> Iterator[FoundFile | SkippedFile]:
    """Yield every file below the paths once, sorted by name within each path. Raises PathNotFound.

    Skips Candor's data folder ``own`` and every path outside ``within``. The name of a path that is a file is relative
    to ``base`` if the file is in that folder; otherwise it is the file name.
    """
    roots = [Path(os.path.abspath(path.expanduser())) for path in paths]
    for root in roots:
        if not os.path.lexists(root):
            raise PathNotFound(f"{str(root)!r} does not exist. Check the spelling, or name another path.")
    seen: set[str] = set()
    for root in roots:
        for found in _below(root, own and own.resolve(), base, within):
            key = found.document if isinstance(found, FoundFile) else found.path
            if key not in seen:
                seen.add(key)
                yield found


def _below(
    root: Path, own: Path | None, base: Path | None, within: Boundary | None
) -> Iterator[FoundFile | SkippedFile]:
    if reason := _refusal(root, within):
        yield SkippedFile(path=_text(root), name=_text(Path(root.name)), reason=reason)
    elif root.is_dir():
        yield from _walk(root, root, own, within, visited=frozenset())
    else:
        name = root.relative_to(base) if base and root.is_relative_to(base) else Path(root.name)
        yield FoundFile(path=root, document=_text(root), name=_text(name))


def _refusal(path: Path, within: Boundary | None) -> str:
    """Return the reason why the path may not be read, or an empty string."""
    try:
        if within:
            within.require(path)
    except Outside as error:
        return str(error.strerror)
    return ""


def _walk(
    folder: Path, root: Path, own: Path | None, within: Boundary | None, visited: frozenset[Path]
) -> Iterator[FoundFile | SkippedFile]:
    """Yield the files below a folder. Yields a folder that cannot be listed as a file, which later fails to open."""
    real = folder.resolve()
    if real == own:
        yield _skip(folder, root, "Candor's own data")
        return
    if real in visited:
        yield _skip(folder, root, "a link back to a folder that contains it")
        return
    try:
        entries = sorted(within.entries(folder) if within else folder.iterdir())
    except OSError:
        yield FoundFile(path=folder, document=_text(folder), name=_text(folder.relative_to(root)))
        return
    for entry in entries:
        if entry.name.startswith("."):
            yield _skip(entry, root, "hidden")
        elif entry.name.startswith(_LOCK) or entry.name.casefold() in _OF_FOLDERS:
            yield _skip(entry, root, "no document: written by a program about open files or folders")
        elif reason := _refusal(entry, within):
            yield _skip(entry, root, reason)
        elif entry.is_dir():
            yield from _walk(entry, root, own, within, visited | {real})
        elif entry.is_file() or entry.is_symlink():
            yield FoundFile(path=entry, document=_text(entry), name=_text(entry.relative_to(root)))
        else:
            yield _skip(entry, root, "not a regular file")


def _skip(path: Path, root: Path, reason: str) -> SkippedFile:
    return SkippedFile(path=_text(path), name=_text(path.relative_to(root)), reason=reason)


def _text(path: Path) -> str:
    return printable(path.as_posix())


def printable(text: str) -> str:
    """Escape the bytes of a path, or of a text with a path, that are not UTF-8, so that any database can store it."""
    return os.fsencode(text).decode("utf-8", errors="backslashreplace")
