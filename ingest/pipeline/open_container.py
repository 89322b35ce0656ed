"""A container on its way: its members one after the other, and when it may itself be noted as done.

A container's record is written after those of its members: an ingest that was killed in between opens it again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from ingest.containers.unpack import REST, ContainerLimits, Member, expand
from ingest.pipeline.discovery import FoundFile

HIDDEN = "hidden"
"""The reason of members that are left out as hidden files on disk are; all others that do not come out have failed."""


class OpenContainer:
    """The members of one container as files to ingest. ``close`` removes the copies."""

    def __init__(self, container: FoundFile, limits: ContainerLimits) -> None:
        self.container = container
        self.open = 0
        """Members that were given out and are in no terminal state yet."""
        self.exhausted = False
        self.complete = True
        """Whether everything in the container was looked at."""
        self.seen: set[str] = set()
        """Paths of the members."""
        self._folder = tempfile.mkdtemp(prefix="candor-")
        self._members: Iterator[Member] = expand(container.path, limits, Path(self._folder))
        self._done: list[Path] = []

    def next(self) -> tuple[FoundFile, str] | None:
        """The next member, and why it did not come out if it did not; None after the last. Raises CorruptDocument."""
        member = next(self._members, None)
        self._remove_done()
        if member is None:
            self.exhausted = True
            return None
        if member.name.endswith(REST):
            self.complete = False
        self.seen.add(f"{self.container.document}/{member.name}")
        file = FoundFile(
            path=member.path or Path(member.name),
            document=f"{self.container.document}/{member.name}",
            name=f"{self.container.name}/{member.name}",
            container=self.container.document,
        )
        return file, member.reason

    def release(self, file: FoundFile) -> None:
        """The copy of a member was read. It goes when the next one was asked for: it may hold members itself."""
        self._done.append(file.path)

    def close(self) -> None:
        """Remove all copies."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _remove_done(self) -> None:
        for path in self._done:
            path.unlink(missing_ok=True)
        self._done.clear()
