"""A container during an ingest: gives out its members one after the other.

The record of a container is written after those of its members. An ingest that was killed before opens it again.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from ingest.containers.unpack import REST, ContainerLimits, Member
from ingest.pipeline.discovery import FoundFile

Unpack = Callable[[Path, ContainerLimits, Path], Iterator[Member]]
"""Writes the members of a container into a folder, as ``ingest.containers.unpack.expand`` does."""
HIDDEN = "hidden"
"""The reason of hidden members, which are skipped like hidden files on disk. With any other reason, a member failed."""


class OpenContainer:
    """The members of one container as files to ingest. ``close`` removes the copies."""

    def __init__(self, container: FoundFile, limits: ContainerLimits, unpack: Unpack) -> None:
        self.container = container
        self.open = 0
        """The number of members that were given out and are not in a terminal state yet."""
        self.exhausted = False
        self.complete = True
        """Whether all members were listed."""
        self.seen: set[str] = set()
        """Paths of the members."""
        self._folder = tempfile.mkdtemp(prefix="candor-")
        self._members: Iterator[Member] = unpack(container.path, limits, Path(self._folder))
        self._read: list[Path] = []

    def next(self) -> tuple[FoundFile, str] | None:
        """Return the next member, with the reason if it was not extracted, or None. Raises CorruptDocument."""
        member = next(self._members, None)
        self._remove_read()
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
        """Mark the copy of a member as read. It is removed after the next member, because it may contain members."""
        self._read.append(file.path)

    def close(self) -> None:
        """Remove all copies."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def _remove_read(self) -> None:
        for path in self._read:
            path.unlink(missing_ok=True)
        self._read.clear()
