"""Opens the original file of a document, if it has not changed since it was ingested."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api.errors import OriginalGone
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord

_TIME_TOLERANCE_S = 0.001  # databases round modification times


@contextmanager
def open_original(ledger: Ledger, document: DocumentRecord, max_member_mb: int) -> Iterator[Path]:
    """Return the path of the original file, valid inside the context. Blocks.

    A member of an archive or message is extracted to a temporary folder. Raises OriginalGone.
    """
    if not document.version:
        raise OriginalGone(f"{document.name!r} was never read: {document.reason}")
    if not document.container:
        _check_unchanged(document)
        yield Path(document.path)
        return
    container = next((each for each in ledger.list(document.collection) if each.path == document.container), None)
    if container is None:
        raise OriginalGone(
            f"{document.container!r}, which contains {document.name!r}, was removed from the collection."
        )
    _check_unchanged(container)
    with tempfile.TemporaryDirectory(prefix="candor-") as folder:
        yield _extract(document, Path(folder), max_member_mb)


def _extract(document: DocumentRecord, folder: Path, max_member_mb: int) -> Path:
    from ingest.containers.unpack import ContainerLimits, expand

    limits = ContainerLimits(member_mb=max_member_mb)
    name = document.path.removeprefix(f"{document.container}/")
    previous: Path | None = None
    for member in expand(Path(document.container), limits, folder):
        if member.path and member.name == name and _digest(member.path) == document.version:
            return member.path
        if previous:  # only now: the next member may come from inside it
            previous.unlink(missing_ok=True)
        previous = member.path
    raise OriginalGone(f"{document.container!r} no longer contains {document.name!r}.")


def _check_unchanged(document: DocumentRecord) -> None:
    """Raise OriginalGone if the file changed. Compares size and time, and the content only if the time differs."""
    path = Path(document.path)
    try:
        status = path.stat()
        same = status.st_size == document.size and (
            abs(status.st_mtime - document.modified) < _TIME_TOLERANCE_S or _digest(path) == document.version
        )
    except OSError as error:
        raise OriginalGone(
            f"Cannot read the file of {document.name!r}, {document.path!r}: {error.strerror}. Its parsed text is still "
            "available."
        ) from error
    if not same:
        raise OriginalGone(
            f"The file of {document.name!r}, {document.path!r}, has changed since it was ingested. Ingest it again. "
            "Until then, its old parsed text is available."
        )


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
