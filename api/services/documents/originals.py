"""Opens the original file of a document, if it has not changed since it was ingested."""

import hashlib
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from api.errors import OriginalGone
from ingest.errors import DocumentNotFound
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord

_STEP = 1 << 20


@contextmanager
def open_original(ledger: Ledger, document: DocumentRecord, max_member_mb: int) -> Iterator[Path]:
    """Yield the path of a copy of the original file, which is deleted at the end of the block. Blocks.

    A member of an archive or message is extracted. Raises OriginalGone.
    """
    if not document.version:
        raise OriginalGone(f"{document.name!r} was never read: {document.reason}")
    if not document.container:
        with tempfile.TemporaryDirectory(prefix="candor-") as folder:
            yield _copy(document, Path(folder))
        return
    try:
        container = ledger.find(document.collection, document.container)
    except DocumentNotFound as error:
        raise OriginalGone(
            f"{document.container!r}, which contains {document.name!r}, was removed from the collection."
        ) from error
    with tempfile.TemporaryDirectory(prefix="candor-") as folder, tempfile.TemporaryDirectory(prefix="candor-") as held:
        yield _extract(document, _copy(container, Path(held)), Path(folder), max_member_mb)


def _extract(document: DocumentRecord, container: Path, folder: Path, max_member_mb: int) -> Path:
    from ingest.containers.unpack import ContainerLimits, expand

    limits = ContainerLimits(member_mb=max_member_mb)
    name = document.path.removeprefix(f"{document.container}/")
    previous: Path | None = None
    for member in expand(container, limits, folder):
        if member.path and member.name == name and _digest(member.path) == document.version:
            return member.path
        if previous:  # deleted only now, because the next member may have been inside it
            previous.unlink(missing_ok=True)
        previous = member.path
    raise OriginalGone(f"{document.container!r} no longer contains {document.name!r}.")


def _copy(document: DocumentRecord, folder: Path) -> Path:
    """Copy the file and return the copy if its content is the ingested content. Raises OriginalGone.

    The copy itself is compared, so nobody can read another file by replacing the original with it or with a link.
    """
    path = Path(document.path)
    copy = folder / path.name
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as source:
            status = os.fstat(source.fileno())
            same = stat.S_ISREG(status.st_mode) and status.st_size == document.size
            if same:
                with copy.open("wb") as target:
                    shutil.copyfileobj(source, target, _STEP)
    except OSError as error:
        raise OriginalGone(
            f"Cannot read the file of {document.name!r}, {document.path!r}: {error.strerror}. Its parsed text is still "
            "available."
        ) from error
    if not same or _digest(copy) != document.version:
        raise OriginalGone(
            f"The file of {document.name!r}, {document.path!r}, has changed since it was ingested. Ingest it again. "
            "Until then, its old parsed text is available."
        )
    return copy


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
