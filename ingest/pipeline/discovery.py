"""Finds the files to ingest: the paths that a person named, folders walked in order, and why something was left out."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ingest.errors import PathNotFound
from vectorstore.models import FrozenModel


class FoundFile(FrozenModel):
    """A file to ingest. ``path`` opens it; ``document`` is its absolute path and ``name`` its short one, for people.

    A file that lies in another (an archive, a message) is opened from a copy; ``container`` is where that other lies.
    """

    path: Path
    document: str
    name: str
    container: str = ""


class LeftOut(FrozenModel):
    """Something in a folder that is not ingested, deliberately."""

    path: str
    name: str
    reason: str


def discover(paths: Sequence[Path], own: Path | None = None, base: Path | None = None) -> Iterator[FoundFile | LeftOut]:
    """Every file below the paths, once, in the order of the paths and then of names. Raises PathNotFound.

    ``own`` is the folder of Candor's own data, which is left out where it lies below a path. A path that is a file in
    the folder ``base`` is named from there; any other has its own name alone.
    """
    roots = [Path(os.path.abspath(path.expanduser())) for path in paths]
    for root in roots:
        if not os.path.lexists(root):
            raise PathNotFound(f"{str(root)!r} does not exist. Check the spelling, or name another file or folder.")
    seen: set[str] = set()
    for root in roots:
        for found in _below(root, own and own.resolve(), base):
            key = found.document if isinstance(found, FoundFile) else found.path
            if key not in seen:
                seen.add(key)
                yield found


def _below(root: Path, own: Path | None, base: Path | None) -> Iterator[FoundFile | LeftOut]:
    if root.is_dir():
        yield from _walk(root, root, own, visited=frozenset())
    else:
        name = root.relative_to(base) if base and root.is_relative_to(base) else Path(root.name)
        yield FoundFile(path=root, document=_shown(root), name=_shown(name))


def _walk(folder: Path, root: Path, own: Path | None, visited: frozenset[Path]) -> Iterator[FoundFile | LeftOut]:
    """The files of a folder and of those in it; one that cannot be listed is given as a file that will not open."""
    real = folder.resolve()
    if real == own:
        yield _left_out(folder, root, "Candor's own data")
        return
    if real in visited:
        yield _left_out(folder, root, "a link back to a folder that contains it")
        return
    try:
        entries = sorted(folder.iterdir())
    except OSError:
        yield FoundFile(path=folder, document=_shown(folder), name=_shown(folder.relative_to(root)))
        return
    for entry in entries:
        if entry.name.startswith("."):
            yield _left_out(entry, root, "hidden")
        elif entry.is_dir():
            yield from _walk(entry, root, own, visited | {real})
        elif entry.is_file() or entry.is_symlink():
            yield FoundFile(path=entry, document=_shown(entry), name=_shown(entry.relative_to(root)))
        else:
            yield _left_out(entry, root, "not a regular file")


def _left_out(path: Path, root: Path, reason: str) -> LeftOut:
    return LeftOut(path=_shown(path), name=_shown(path.relative_to(root)), reason=reason)


def _shown(path: Path) -> str:
    return printable(path.as_posix())


def printable(text: str) -> str:
    """A path, or a message with one, as text that any database takes: bytes that are no UTF-8 become escapes."""
    return os.fsencode(text).decode("utf-8", errors="backslashreplace")
