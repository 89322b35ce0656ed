"""The file that a document was read from: as it is stored, if it is still what was read."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api.bootstrap import Candor
from api.errors import OriginalGone
from ingest.ledger.records import DocumentRecord

_OTHER_TIME_S = 0.001  # a modification time that has been through a database


@contextmanager
def original(candor: Candor, document: DocumentRecord) -> Iterator[Path]:
    """Where the bytes of the document lie until the end of the block. Blocks.

    What lies in an archive or a message is taken out of it once more. Raises OriginalGone, saying what became of it.
    """
    if not document.version:
        raise OriginalGone(f"{document.name!r} could not be read: {document.reason}")
    if not document.container:
        _check_unchanged(document)
        yield Path(document.path)
        return
    holder = next((each for each in candor.ledger.list(document.collection) if each.path == document.container), None)
    if holder is None:
        raise OriginalGone(
            f"{document.container!r}, which {document.name!r} lay in, is not in the collection any more."
        )
    _check_unchanged(holder)
    with tempfile.TemporaryDirectory(prefix="candor-") as folder:
        yield _taken_out(candor, document, Path(folder))


def _taken_out(candor: Candor, document: DocumentRecord, folder: Path) -> Path:
    from ingest.containers.unpack import ContainerLimits, expand

    limits = ContainerLimits(member_mb=candor.settings.ingest.max_file_mb)
    name = document.path.removeprefix(f"{document.container}/")
    passed: Path | None = None
    for member in expand(Path(document.container), limits, folder):
        if member.path and member.name == name and _digest(member.path) == document.version:
            return member.path
        if passed:  # only now: it may have held the one that came after it
            passed.unlink(missing_ok=True)
        passed = member.path
    raise OriginalGone(f"{document.name!r} cannot be taken out of {document.container!r} any more.")


def _check_unchanged(document: DocumentRecord) -> None:
    """By size and time, and by content only where these do not tell."""
    path = Path(document.path)
    try:
        status = path.stat()
        same = status.st_size == document.size and (
            abs(status.st_mtime - document.modified) < _OTHER_TIME_S or _digest(path) == document.version
        )
    except OSError as error:
        raise OriginalGone(
            f"The file of {document.name!r}, {document.path!r}, cannot be read any more: {error.strerror}. "
            "Its parsed text is kept."
        ) from error
    if not same:
        raise OriginalGone(
            f"The file of {document.name!r}, {document.path!r}, has changed since it was read. Ingest it again; until "
            "then, its parsed text is as it was."
        )


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
