"""The sandbox of a run: the one folder whose files its tools may read and write. Nothing leads out of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from multi_agent.errors import ToolError

_LONGEST = 200  # of each part of a name, in bytes
_DEEPEST = 8


class Sandbox:
    """Files by their names in the folder ``root``, which is made when the first one is written.

    Names are relative, with ``/``; one that leads out of the folder, by ``..`` or over a link, is refused. All files
    together take at most ``most`` bytes.
    """

    def __init__(self, root: Path, most: int) -> None:
        self.root, self._most = root, most

    def names(self) -> list[str]:
        """The names of all files, sorted."""
        return sorted(path.relative_to(self.root).as_posix() for path in self._files())

    def size(self, name: str) -> int:
        """Bytes of a file. Raises ToolError if it is not there."""
        return self.path(name).stat().st_size

    def read(self, name: str) -> bytes:
        """A file. Raises ToolError if it is not there."""
        return self.path(name).read_bytes()

    def path(self, name: str) -> Path:
        """Where a file lies. Raises ToolError if it is not there."""
        path = self._place(name)
        if not path.is_file():
            there = ", ".join(self.names()) or "none"
            raise ToolError(f"There is no file {name!r}; there are: {there}.")
        return path

    def write(self, name: str, content: bytes) -> None:
        """Keep a file, in place of one of that name. Raises ToolError if there is no room, or for a wrong name."""
        path = self._place(name)
        if path.is_dir():
            raise ToolError(f"{name!r} is a folder; give the file another name.")
        others = sum(each.stat().st_size for each in self._files() if each != path)
        if others + len(content) > self._most:
            raise ToolError(
                f"{name!r} has {len(content)} bytes, and of the {self._most} that the files of a run may have in all "
                f"(`tools.sandbox_bytes`), {others} are used."
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ToolError(f"A folder on the way to {name!r} is a file; give it another name.") from None
        path.write_bytes(content)

    def _place(self, name: str) -> Path:
        path = self.root / name
        if not _is_plain(name) or not path.resolve().is_relative_to(self.root.resolve()) or _has_link(path, self.root):
            raise ToolError(f"{name!r} cannot name a file: use a relative name without '..', such as 'notes/a.txt'.")
        return path

    def _files(self) -> Iterator[Path]:
        return (path for path in self.root.rglob("*") if path.is_file() and not _has_link(path, self.root))


def _is_plain(name: str) -> bool:
    """Whether it is relative, stays inside, and is a name on every kind of file system."""
    parts = PurePosixPath(name).parts
    odd = "\\" in name or not name.isprintable() or any(len(part.encode()) > _LONGEST for part in parts)
    return bool(parts) and not name.startswith("/") and ".." not in parts and len(parts) <= _DEEPEST and not odd


def _has_link(path: Path, root: Path) -> bool:
    return any(each.is_symlink() for each in (path, *path.parents) if each != root and each.is_relative_to(root))
