"""The sandbox of a run, which is the only folder in which its tools may read and write files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from pydantic import TypeAdapter

from multi_agent.errors import ToolError
from vectorstore.models import WebPage

_MAX_PART_BYTES = 200
_MAX_DEPTH = 8
_ORIGINS = ".origins.json"
_ORIGINS_TYPE = TypeAdapter(dict[str, WebPage])


class Sandbox:
    """The files in the folder ``root``, which the first write creates.

    Names are relative paths with ``/``. Names outside the folder, through ``..`` or a link, are rejected.
    All files together have at most ``max_bytes`` bytes.
    """

    def __init__(self, root: Path, max_bytes: int) -> None:
        self.root, self._max_bytes = root, max_bytes

    def names(self) -> list[str]:
        """Return the names of all files, sorted."""
        return sorted(path.relative_to(self.root).as_posix() for path in self._files())

    def size(self, name: str) -> int:
        """Return the size of a file in bytes. Raises ToolError if it does not exist."""
        return self.path(name).stat().st_size

    def read(self, name: str) -> bytes:
        """Return the content of a file. Raises ToolError if it does not exist."""
        return self.path(name).read_bytes()

    def path(self, name: str) -> Path:
        """Return the path of a file. Raises ToolError if it does not exist."""
        path = self._resolve(name)
        if not path.is_file():
            there = ", ".join(self.names()) or "none"
            raise ToolError(f"There is no file {name!r}; there are: {there}.")
        return path

    def origin(self, name: str) -> WebPage | None:
        """Return the origin of a downloaded file, or None if a tool wrote it. Raises ToolError like ``path``."""
        self.path(name)
        return self._origins().get(PurePosixPath(name).as_posix())

    def write(self, name: str, content: bytes, origin: WebPage | None = None) -> None:
        """Write or replace a file. ``origin`` is the web page of a downloaded file.

        Raises ToolError for an invalid name or when the sandbox is full.
        """
        path = self._resolve(name)
        if path.is_dir():
            raise ToolError(f"{name!r} is a folder; give the file another name.")
        others = sum(each.stat().st_size for each in self._files() if each != path)
        if others + len(content) > self._max_bytes:
            raise ToolError(
                f"{name!r} has {len(content)} bytes, and of the {self._max_bytes} that the files of a run may have in "
                f"all, {others} are used."
            )
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except (FileExistsError, NotADirectoryError):
            raise ToolError(f"A folder on the way to {name!r} is a file; give it another name.") from None
        path.write_bytes(content)
        self._set_origin(PurePosixPath(name).as_posix(), origin)

    def _origins(self) -> dict[str, WebPage]:
        path = self.root / _ORIGINS
        return _ORIGINS_TYPE.validate_json(path.read_bytes()) if path.is_file() else {}

    def _set_origin(self, name: str, origin: WebPage | None) -> None:
        """Store the origin of a file, or delete it for None. Tools cannot write origins themselves."""
        origins = self._origins()
        known = origins.pop(name, None)
        if origin or known:
            changed = origins | ({name: origin} if origin else {})
            (self.root / _ORIGINS).write_bytes(_ORIGINS_TYPE.dump_json(changed))

    def _resolve(self, name: str) -> Path:
        path = self.root / name
        if not _is_plain(name) or not path.resolve().is_relative_to(self.root.resolve()) or _has_link(path, self.root):
            raise ToolError(f"{name!r} cannot name a file: use a relative name without '..', such as 'notes/a.txt'.")
        return path

    def _files(self) -> Iterator[Path]:
        origins = self.root / _ORIGINS
        files = (path for path in self.root.rglob("*") if path.is_file() and path != origins)
        return (path for path in files if not _has_link(path, self.root))


def _is_plain(name: str) -> bool:
    """Return whether the name is relative, stays inside the folder, and is valid on every file system."""
    parts = PurePosixPath(name).parts
    odd = "\\" in name or not name.isprintable() or any(len(part.encode()) > _MAX_PART_BYTES for part in parts)
    reserved = ".." in parts or parts[:1] == (_ORIGINS,)
    return bool(parts) and not name.startswith("/") and not reserved and len(parts) <= _MAX_DEPTH and not odd


def _has_link(path: Path, root: Path) -> bool:
    return any(each.is_symlink() for each in (path, *path.parents) if each != root and each.is_relative_to(root))
