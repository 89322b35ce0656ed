"""Recognizes files that were moved with their folder, so that their documents keep ids, tags, ratings and citations."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath

from ingest.ledger.records import DocumentState, DocumentSummary, document_id
from ingest.pipeline.boundary import Boundary
from ingest.pipeline.discovery import FoundFile


class Identities:
    """The ids of documents by path. A moved document keeps its id, so a new file at its former path gets another."""

    def __init__(self, known: Mapping[str, DocumentSummary]) -> None:
        live_last = sorted(known.values(), key=lambda entry: entry.state is not DocumentState.REMOVED)
        self._ids = {entry.path: entry.id for entry in live_last}
        self._taken = known.keys()

    def of(self, path: str) -> str:
        """Return the id of the document of the file at a path."""
        if path in self._ids:
            return self._ids[path]
        identity = document_id(path)
        while identity in self._taken:
            identity = document_id(identity)
        return identity


def find_moves(
    files: Sequence[FoundFile], known: Mapping[str, DocumentSummary], within: Boundary | None
) -> dict[str, DocumentSummary]:
    """Return the known documents that new files are: same name, same content, and the old path is gone. By new path.

    Reads only files that have the name and the size of a document whose file is missing.
    """
    absent: dict[tuple[str, int], list[DocumentSummary]] = {}
    for entry in known.values():
        if entry.version and not entry.container and entry.state is not DocumentState.REMOVED:
            absent.setdefault((PurePath(entry.path).name, entry.size), []).append(entry)
    moves: dict[str, DocumentSummary] = {}
    for file in files:
        try:
            if candidates := absent.get((file.path.name, file.path.stat().st_size)):
                candidates[:] = [entry for entry in candidates if is_missing(entry)]
                version = _digest(file.path, within) if candidates else ""
                same = [entry for entry in candidates if entry.version == version]
                if same:
                    moves[file.document] = max(same, key=lambda entry: _common(entry.path, file.document))
                    candidates.remove(moves[file.document])
        except OSError:  # reading the file reports the error
            continue
    return moves


def relocated(
    moves: Mapping[str, DocumentSummary], files: Sequence[FoundFile], known: Mapping[str, DocumentSummary]
) -> Iterator[DocumentSummary]:
    """Yield the moved documents, and the members of moved containers, with their new paths and names."""
    members = members_by_container(known)
    for file in files:
        if old := moves.get(file.document):
            yield old._replace(path=file.document, name=file.name)
            for member in members.get(old.path, ()):
                yield member._replace(
                    path=file.document + member.path.removeprefix(old.path),
                    name=file.name + member.name.removeprefix(old.name),
                    container=file.document,
                )


def members_by_container(known: Mapping[str, DocumentSummary]) -> dict[str, list[DocumentSummary]]:
    """Return the known members of containers, at any depth, by the path of the outermost container."""
    members: dict[str, list[DocumentSummary]] = {}
    for entry in known.values():
        if entry.container:
            members.setdefault(entry.container, []).append(entry)
    return members


def left_behind(
    moves: Mapping[str, DocumentSummary], known: Mapping[str, DocumentSummary]
) -> Iterator[DocumentSummary]:
    """Yield entries below the moved folders that were never indexed and whose file is missing."""
    roots = {Path(*Path(old.path).parts[: -_common(old.path, new)]) for new, old in moves.items()}
    moved = {each.id for each in moves.values()}
    for entry in known.values():
        unread = not entry.chunks and entry.state is not DocumentState.REMOVED and entry.id not in moved
        if unread and any(root in roots for root in Path(entry.path).parents) and is_missing(entry):
            yield entry


def is_missing(known: DocumentSummary) -> bool:
    """Return whether the file or its container no longer exists. A file that cannot be checked counts as existing."""
    try:
        os.lstat(known.container or known.path)
    except (FileNotFoundError, NotADirectoryError):
        # The stored path escapes bytes that are not UTF-8, so no file has exactly that path.
        return "\\x" not in known.path
    except OSError:
        return False
    return False


def _digest(path: Path, within: Boundary | None) -> str:
    with os.fdopen(within.open(path) if within else os.open(path, os.O_RDONLY | os.O_NONBLOCK), "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _common(old: str, new: str) -> int:
    """Return how many parts at the end of two paths are the same."""
    pairs = zip(reversed(PurePath(old).parts), reversed(PurePath(new).parts), strict=False)
    return next((number for number, (one, other) in enumerate(pairs) if one != other), 0)
