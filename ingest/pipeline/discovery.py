"""Finds the files to ingest. Walks folders in order and records a reason for every entry that it skips."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from unicodedata import category

from pydantic import Field

from base.models import FrozenModel
from ingest.errors import PathNotFound
from ingest.pipeline.boundary import Boundary, Outside
from ingest.pipeline.rules import Rules


class FoundFile(FrozenModel):
    """A file to ingest.

    ``path`` is the path to open, ``document`` the absolute path of the file, and ``name`` the short path that is
    displayed. For a file in a container (an archive or a message), ``path`` is an extracted copy and ``container`` the
    path of the container. ``id`` is set when the files are compared with the known documents.
    """

    path: Path
    document: str
    name: str
    container: str = ""
    id: str = ""


class SkippedFile(FrozenModel):
    """An entry of a folder that is deliberately not ingested."""

    path: str
    name: str
    reason: str
    rule: str = Field(default="", description="the pattern of the ignore rules that matches it, if one does")


def discover(
    paths: Sequence[Path],
    own: Path | None = None,
    base: Path | None = None,
    within: Boundary | None = None,
    *,
    exclude: Sequence[str] = (),
    include: Sequence[str] = (),
    follow_links: bool = False,
) -> Iterator[FoundFile | SkippedFile]:
    """Yield every file below the paths once, sorted by name within each path. Raises PathNotFound, InvalidRule.

    Skips Candor's data folder ``own``, every path outside ``within``, and what ``rules.py`` leaves out. Links that lead
    out of the folder are skipped unless ``follow_links``. A path that is a file is never left out by a rule. Its name
    is relative to ``base`` if the file is in that folder; otherwise it is the file name.
    """
    roots = [Path(os.path.abspath(path.expanduser())) for path in paths]
    for root in roots:
        if not os.path.lexists(root):
            raise PathNotFound(f"{str(root)!r} does not exist. Check the spelling, or name another path.")
    seen: set[str] = set()
    for root in roots:
        if root.is_dir() and not _refusal(root, within):
            is_upload = bool(base) and root.is_relative_to(str(base))
            around = () if is_upload else (each for each in reversed(root.parents) if not _refusal(each, within))
            rules = Rules.create(root, exclude, include, around, within)
            entries = _Walk(root, own and own.resolve(), within, follow_links).files(root, rules, frozenset())
        else:
            entries = _single(root, base, within)
        for found in entries:
            key = found.document if isinstance(found, FoundFile) else found.path
            if key not in seen:
                seen.add(key)
                yield found


def _single(root: Path, base: Path | None, within: Boundary | None) -> Iterator[FoundFile | SkippedFile]:
    if reason := _refusal(root, within):
        yield SkippedFile(path=_text(root), name=_name(Path(root.name)), reason=reason)
    else:
        name = root.relative_to(base) if base and root.is_relative_to(base) else Path(root.name)
        yield FoundFile(path=root, document=_text(root), name=_name(name))


def _refusal(path: Path, within: Boundary | None) -> str:
    """Return the reason why the path may not be read, or an empty string."""
    try:
        if within:
            within.require(path)
    except Outside as error:
        return str(error.strerror)
    return ""


class _Walk:
    """Walks through one folder."""

    def __init__(self, root: Path, own: Path | None, within: Boundary | None, follow_links: bool) -> None:
        self._root, self._real = root, Path(os.path.realpath(root))
        self._own, self._within, self._follow_links = own, within, follow_links

    def files(self, folder: Path, rules: Rules, visited: frozenset[Path]) -> Iterator[FoundFile | SkippedFile]:
        """Yield the files below a folder. Yields a folder that cannot be listed as a file, which later fails to open.

        ``visited`` are the folders that contain it.
        """
        try:
            real = folder.resolve()
            if real == self._own:
                yield self._skip(folder, "Candor's own data")
                return
            if real in visited:
                yield self._skip(folder, "a link back to a folder that contains it")
                return
            entries = sorted(self._within.entries(folder) if self._within else folder.iterdir())
        except OSError:
            yield self._found(folder)
            return
        inner = rules.enter(folder, self._within)
        for entry in entries:
            yield from self._entry(entry, inner, visited | {real})

    def _entry(self, entry: Path, rules: Rules, visited: frozenset[Path]) -> Iterator[FoundFile | SkippedFile]:
        is_folder, is_link = entry.is_dir(), entry.is_symlink() and not self._follow_links
        if left_out := rules.judge(entry, is_folder=is_folder):
            yield self._skip(entry, *left_out)
        elif reason := _refusal(entry, self._within):
            yield self._skip(entry, reason)
        elif is_link and entry.exists() and not Path(os.path.realpath(entry)).is_relative_to(self._real):
            yield self._skip(entry, "a link that leads out of the folder (--follow-links)")
        elif is_folder:
            yield from self.files(entry, rules, visited)
        elif entry.is_file() or entry.is_symlink():
            yield self._found(entry)
        else:
            yield self._skip(entry, "not a regular file")

    def _found(self, path: Path) -> FoundFile:
        return FoundFile(path=path, document=_text(path), name=_name(path.relative_to(self._root)))

    def _skip(self, path: Path, reason: str, rule: str = "") -> SkippedFile:
        return SkippedFile(path=_text(path), name=_name(path.relative_to(self._root)), reason=reason, rule=rule)


def _text(path: Path) -> str:
    return printable(path.as_posix())


def _name(path: Path) -> str:
    """Return the name of a file on one line. A line break in it could pass for the next line of a list or prompt."""
    return "".join(repr(each)[1:-1] if category(each) in ("Cc", "Zl", "Zp") else each for each in _text(path))


def printable(text: str) -> str:
    """Escape the bytes of a path, or of a text with a path, that are not UTF-8, so that any database can store it."""
    return os.fsencode(text).decode("utf-8", errors="backslashreplace")
