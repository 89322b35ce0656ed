"""Stores and deletes uploaded files.

    HOME/uploads/papers/reports/2024.pdf          a file of the collection `papers`, under the name that the client sent
    HOME/uploads/.origins/papers/a.pdf            the URL that `a.pdf` of `papers` came from, then its version
    HOME/uploads/.bin/ENTRY/file                  the file of a deleted document, in its bin entry
    HOME/uploads/.incoming/machine-123-8f3a…/0    a file that process 123 of that machine is receiving

A file is moved to its final path only after the whole upload has arrived. Unfinished uploads are deleted. Several
machines can share the folder; each deletes only its own unfinished uploads.
"""

import filecmp
import os
import re
import shutil
import socket
import tempfile
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path, PurePosixPath

import psutil

from api.errors import HomeError, UsageError

_INCOMING = ".incoming"  # not a valid collection name
_BIN = ".bin"  # not a valid collection name
_ORIGINS = ".origins"  # not a valid collection name
_MAX_PART_BYTES = 255  # limit of common file systems
_MAX_LENGTH = 1000


class Uploads:
    """The uploaded files in a folder. Calls block."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def folder(self, collection: str) -> Path:
        """Return the folder of a collection's files. It may not exist."""
        return self._folder / collection

    def holds(self, collection: str, path: Path) -> bool:
        """Return whether the file was uploaded into the collection, so that Candor owns it."""
        return path.is_relative_to(self.folder(collection))

    @contextmanager
    def incoming(self) -> Iterator[Path]:
        """Create a folder for incoming files. Deletes it with its remaining files at the end of the block."""
        with _translate_errors(self._folder):
            (self._folder / _INCOMING).mkdir(parents=True, exist_ok=True)
            prefix = f"{socket.gethostname()}-{os.getpid()}-"
            folder = Path(tempfile.mkdtemp(prefix=prefix, dir=self._folder / _INCOMING))
        try:
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def accept(self, collection: str, received: Mapping[PurePosixPath, Path]) -> list[Path]:
        """Move received files to their final paths and return these paths. Replaces files with the same name.

        Raises UsageError before any file is moved if a file and a folder have the same name, on the disk or among the
        received files.
        """
        folder = self.folder(collection)
        for name in received:
            _check_free(folder, name)
            if parent := next((each for each in name.parents if each in received), None):
                raise UsageError(
                    f"The upload contains the file {str(parent)!r} and, in a folder with the same name, the file "
                    f"{str(name)!r}. Rename one."
                )
        with _translate_errors(folder):
            return [self._move(path, folder / name) for name, path in received.items()]

    def add_copy(self, collection: str, name: PurePosixPath, file: Path, url: str) -> Path:
        """Store a copy of a file of a run. ``url`` is the URL of a downloaded file, and empty if a tool wrote the file.

        Replaces an earlier download from the same URL. Raises UsageError if another file has this name.
        """
        path = self.folder(collection) / name
        _check_free(self.folder(collection), name)
        with self.incoming() as folder, _translate_errors(path):
            copy = shutil.copyfile(file, folder / "0")
            if path.is_file() and not filecmp.cmp(copy, path, shallow=False) and not (url and url == self.url(path)):
                raise UsageError(
                    f"The collection {collection!r} has another file named {str(name)!r}. Remove that document first, "
                    "or download this file and upload it under another name."
                )
            self._move(copy, path)
            if url:
                self._note_origin(path, url)
        return path

    def keep(self, collection: str, name: PurePosixPath, content: bytes, url: str, version: str) -> Path:
        """Store what was fetched from a URL. ``version`` is what its source gives to notice changes.

        Does not touch a file that has the content. Raises UsageError if another file has this name.
        """
        path = self.folder(collection) / name
        with self.incoming() as folder, _translate_errors(path):
            if not (path.is_file() and path.read_bytes() == content):
                received = folder / "received"
                received.write_bytes(content)
                self.add_copy(collection, name, received, url)
            self._note_origin(path, url, version)
        return path

    def kept(self, folder: Path) -> dict[str, tuple[Path, str]]:
        """Return the files in a folder of uploads that came from a URL: path and version, by URL."""
        found: dict[str, tuple[Path, str]] = {}
        with _translate_errors(folder):
            for origin in self._origin(folder).rglob("*"):
                path = self._folder / origin.relative_to(self._folder / _ORIGINS)
                if path.is_file():
                    url, _, version = origin.read_text(encoding="utf-8").partition("\n")
                    found[url] = path, version
        return found

    def _note_origin(self, path: Path, url: str, version: str = "") -> None:
        origin = self._origin(path)
        origin.parent.mkdir(parents=True, exist_ok=True)
        origin.write_text(f"{url}\n{version}" if version else url, encoding="utf-8")

    def url(self, path: Path) -> str:
        """Return the URL from which a file was downloaded, or an empty string."""
        if not path.is_relative_to(self._folder):
            return ""
        with _translate_errors(path), suppress(FileNotFoundError):
            return self._origin(path).read_text(encoding="utf-8").partition("\n")[0]
        return ""

    def remove(self, path: Path, place: str = "") -> None:
        """Delete an uploaded file, or move it to the bin entry ``place``. Also delete the folders that become empty."""
        if place:
            self._move_all(self._pairs(path, place))
        for each in (path, self._origin(path)):
            with _translate_errors(each):
                each.unlink(missing_ok=True)
            self._remove_empty_folders(each)

    def restore(self, path: Path, place: str) -> None:
        """Move an uploaded file back from the bin entry ``place``. Other files are unaffected."""
        if path.is_relative_to(self._folder):
            self._move_all((kept, each) for each, kept in self._pairs(path, place))

    def forget(self, place: str) -> None:
        """Delete the files of the bin entry ``place``."""
        shutil.rmtree(self._folder / _BIN / place, ignore_errors=True)

    def _pairs(self, path: Path, place: str) -> tuple[tuple[Path, Path], ...]:
        folder = self._folder / _BIN / place
        return (path, folder / "file"), (self._origin(path), folder / "origin")

    def _move_all(self, moves: Iterable[tuple[Path, Path]]) -> None:
        for source, target in moves:
            with _translate_errors(target), suppress(FileNotFoundError):
                target.parent.mkdir(parents=True, exist_ok=True)
                source.replace(target)

    def _remove_empty_folders(self, path: Path) -> None:
        for folder in path.parents:
            if folder == self._folder or not folder.is_relative_to(self._folder):
                return
            try:
                folder.rmdir()
            except OSError:  # not empty
                return

    def drop(self, collection: str, name: str = "") -> None:
        """Delete all files of a collection, or those in one of its folders."""
        dropped = self.folder(collection) / name
        for folder in (dropped, self._origin(dropped)):
            with _translate_errors(folder), suppress(FileNotFoundError):
                shutil.rmtree(folder)

    def clear(self) -> None:
        """Delete unfinished uploads of processes of this machine that were killed. Call it before this one gets any.

        A process in a container often has the same number after a restart.
        """
        for folder in (self._folder / _INCOMING).glob("*-*-*"):
            host, pid, _ = folder.name.rsplit("-", 2)
            if host == socket.gethostname() and (int(pid) == os.getpid() or not psutil.pid_exists(int(pid))):
                shutil.rmtree(folder, ignore_errors=True)

    def _move(self, received: Path, path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._origin(path).unlink(missing_ok=True)
        received.replace(path)
        return path

    def _origin(self, path: Path) -> Path:
        return self._folder / _ORIGINS / path.relative_to(self._folder)


def safe_name(name: str) -> PurePosixPath:
    """Return the relative path of an uploaded file in Unicode normal form C. Raises UsageError if it is invalid."""
    path = unicodedata.normalize("NFC", name).replace("\\", "/")
    parts = path.split("/")
    problem = next((problem for part in parts if (problem := _problem(part))), "")
    if path.startswith("/") or re.match(r"[A-Za-z]:", path):
        problem = "it is an absolute path"
    if len(path) > _MAX_LENGTH:
        problem = f"it has more than {_MAX_LENGTH} characters"
    if problem:
        raise UsageError(f"Invalid file name {name[:_MAX_LENGTH]!r}: {problem}. Rename the file.")
    return PurePosixPath(*parts)


def _problem(part: str) -> str:
    """Return why a part of a name is invalid, or an empty string."""
    if not part.strip():
        return "a part of it is empty"
    if part == "..":
        return "'..' is not allowed"
    if part.startswith("."):
        return "hidden files (names that start with '.') are not ingested"
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in part):
        return "it contains control characters"
    if len(part.encode()) > _MAX_PART_BYTES:
        return f"a part of it has more than {_MAX_PART_BYTES} bytes"
    return ""


def _check_free(folder: Path, name: PurePosixPath) -> None:
    file = next((parent for parent in name.parents if (folder / parent).is_file()), None)
    if file is not None or (folder / name).is_dir():
        existing = f"the file {str(file)!r}" if file else "a folder of that name"
        raise UsageError(f"Cannot store {str(name)!r}: {existing} exists. Rename the file.")


@contextmanager
def _translate_errors(path: Path) -> Iterator[None]:
    """Translate OSError to HomeError."""
    try:
        yield
    except OSError as error:
        raise HomeError(
            f"Cannot store uploaded files in {str(path)!r}: {error.strerror or error}. Check the free space and the "
            "permissions of the folder."
        ) from error
