"""Private copies of the files that an ingest of the service reads.

Parsers and containers open files by path. The copy is made from the file descriptor that was checked, so nobody can
replace the file with a link.
"""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from ingest.errors import UnreadableFile
from ingest.pipeline.boundary import Boundary
from ingest.pipeline.discovery import FoundFile
from ingest.pipeline.parse_file import ATTEMPTS, changing, identity_of, require_size, unreadable


@dataclass(frozen=True)
class Copies:
    """Copies the files that are being ingested into the private ``folder``, if they are inside the boundary."""

    boundary: Boundary
    folder: Path

    def take(self, file: FoundFile, *, known: bool, max_file_mb: int) -> FoundFile:
        """Return the file with the path of its copy. Uploads and members of containers are returned without a copy.

        Raises FileError.
        """
        if file.container or self.boundary.is_upload(file.path):
            return file
        try:
            return file.model_copy(update={"path": self._copy(file, known, max_file_mb)})
        except OSError as error:
            raise unreadable(file, error) from error

    def drop(self, file: FoundFile) -> None:
        """Remove the copy of a file, if it has one."""
        if file.path.is_relative_to(self.folder):
            shutil.rmtree(file.path.parent, ignore_errors=True)

    def _copy(self, file: FoundFile, known: bool, max_file_mb: int) -> Path:
        copy = Path(tempfile.mkdtemp(dir=self.folder)) / file.path.name
        for _ in range(ATTEMPTS):
            with os.fdopen(self.boundary.open(file.path, known=known), "rb") as source:
                before = os.fstat(source.fileno())
                if not stat.S_ISREG(before.st_mode):
                    raise UnreadableFile(f"{file.document} cannot be read: it is not a regular file.")
                require_size(file, before.st_size, max_file_mb)
                with copy.open("wb") as target:
                    shutil.copyfileobj(source, target, 1 << 20)
                if identity_of(os.fstat(source.fileno())) == identity_of(before):
                    os.utime(copy, ns=(before.st_atime_ns, before.st_mtime_ns))
                    return copy
        raise changing(file)
