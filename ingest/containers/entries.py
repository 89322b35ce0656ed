"""Kinds of containers (archives and messages), and the files in a container of each kind.

Owns the libraries that read containers, and protects them from forged headers. ``unpack.py`` writes the files and
enforces the limits on their size and number.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import posixpath
import re
import stat
import struct
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple, cast

from ingest.containers import embedded, mail, outlook
from ingest.decoding import decode
from ingest.errors import UnreadableFile, UnsupportedFormat

MB = 1 << 20
_STEP = 1 << 18
_MAX_READ = 64 * MB  # only forged headers ask for more at once
_UTF8 = 0x800  # flag of a member whose name is in UTF-8
_MAX_LISTED = 100_000  # files in a zip archive: their list is read into memory first
_LIST_ENTRY = b"PK\x01\x02"
DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError,
    OverflowError, RuntimeError,
)  # fmt: skip
"""Errors of the libraries on damaged files. RuntimeErrors: unknown methods, and containers nested too deeply."""
_OPENERS: dict[bytes, Callable[[Path], io.BufferedIOBase]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_FOLDERS = re.compile(r"\A(?:[A-Za-z]:)?[\\/](?:.*[\\/])?")
_PACKAGE_MARKS = {"[Content_Types].xml", "[Content_Types].xml/[0].piece"}
"""Members of zip archives that are packages: Office Open XML, XPS. XPS files often list them last."""
_DOCUMENT_MARKS = {"mimetype", "META-INF/container.xml", "Index/Document.iwa", "Index.zip", "QuickLook/Preview.pdf"}
"""Members of zip archives that are other documents: OpenDocument, EPUB, iWork."""


class ContainerKind(StrEnum):
    """Kind of a file that holds other files."""

    ZIP = "zip"
    TAR = "tar"
    COMPRESSED = "compressed"
    MAIL = "mail"
    MAILBOX = "mailbox"
    OUTLOOK = "outlook"
    NOTES = "notes"
    PDF = "pdf"
    OFFICE = "office"

    @property
    def is_document(self) -> bool:
        """Whether it has a text of its own besides the files in it."""
        return self not in (ContainerKind.ZIP, ContainerKind.TAR, ContainerKind.COMPRESSED, ContainerKind.MAILBOX)


class Exhausted(Exception):
    """Unpacking of the container stops. The message is the reason."""


class Entry(NamedTuple):
    """A file in a container, before it is unpacked."""

    name: str
    open: Callable[[], IO[bytes]]
    size: int = 0  # according to the container; not reliable
    packed: int = 0  # its packed size, if it is packed separately
    refusal: str = ""


Entries = Generator[Entry, None, None]


def container_kind(path: Path) -> ContainerKind | None:
    """Return the kind of container by the file's content, or None for other files. Raises UnreadableFile."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise UnreadableFile(f"Cannot read {path}: {error.strerror}. Check its permissions and its disk.") from error
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_zip(path)
    if head.startswith(b"%PDF-"):
        return ContainerKind.PDF if embedded.pdf_has_files(path) else None
    if head[257:262] == b"ustar":
        return ContainerKind.TAR
    if (opener := _opener(head)) is not None:
        return ContainerKind.TAR if _holds_tar(path, opener) else ContainerKind.COMPRESSED
    if path.suffix.lower() == ".msg" and head.startswith(outlook.SIGNATURE):
        return ContainerKind.OUTLOOK
    if embedded.NOTES_MARK in head:
        return ContainerKind.NOTES
    if mail.is_mailbox(head):
        return ContainerKind.MAILBOX
    return ContainerKind.MAIL if path.suffix.lower() == ".eml" else None


def _kind_of_zip(path: Path) -> ContainerKind | None:
    try:
        with _open_zip(path) as archive:
            names = archive.namelist()
        if _PACKAGE_MARKS & set(names) and embedded.office_has_files(names):
            return ContainerKind.OFFICE
        is_document = _PACKAGE_MARKS & set(names) or _DOCUMENT_MARKS & set(names[:50])
        return None if is_document else ContainerKind.ZIP
    except DAMAGE:  # the parser rejects damaged documents
        return ContainerKind.ZIP if path.suffix.lower() == ".zip" else None


def _opener(head: bytes) -> Callable[[Path], io.BufferedIOBase] | None:
    return next((opener for mark, opener in _OPENERS.items() if head.startswith(mark)), None)


def _holds_tar(path: Path, opener: Callable[[Path], io.BufferedIOBase]) -> bool:
    try:
        with opener(path) as stream:
            return stream.read(512)[257:262] == b"ustar"
    except DAMAGE:
        return ".tar" in path.name.lower() or path.suffix.lower() in (".tgz", ".tbz2", ".txz")


def _zip_entries(path: Path, _: int) -> Entries:
    with _open_zip(path) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield Entry(
                    _zip_name(info),
                    partial(archive.open, info),
                    info.file_size,
                    max(info.compress_size, 1),
                    _refusal(info),
                )


def _zip_name(info: zipfile.ZipInfo) -> str:
    """Return the name of a member. Names that are not marked as UTF-8 are in the encoding of the program's system."""
    if info.flag_bits & _UTF8 or info.filename.isascii():
        return info.filename
    try:
        return decode(info.orig_filename.encode("cp437"), Path(info.filename), lambda _: None)
    except (UnicodeEncodeError, UnsupportedFormat):
        return info.filename


def _open_zip(path: Path) -> zipfile.ZipFile:
    with path.open("rb") as file:
        listed = sum(part.count(_LIST_ENTRY) for part in iter(partial(file.read, 16 * MB), b""))
    if listed > _MAX_LISTED:
        raise zipfile.BadZipFile(f"it lists more than {_MAX_LISTED} files")
    return zipfile.ZipFile(path)


def _refusal(info: zipfile.ZipInfo) -> str:
    if info.flag_bits & 0x1:
        return "it is encrypted"
    mode = info.external_attr >> 16
    return "" if stat.S_IFMT(mode) in (0, stat.S_IFREG) else "it is a link or a device"


def _tar_entries(path: Path, max_bytes: int) -> Entries:
    with _open_unpacked(path, max_bytes) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        for info in archive:
            if info.isreg():
                yield Entry(info.name, partial(_content, archive, info))
            elif not info.isdir():
                yield Entry(info.name, _empty, refusal="it is a link or a device")


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    return archive.extractfile(info) or _empty()


def _empty() -> IO[bytes]:
    return io.BytesIO()


def _compressed_entries(path: Path, max_bytes: int) -> Entries:
    yield Entry(path.stem if path.suffix else f"{path.name}.unpacked", lambda: _open_unpacked(path, max_bytes))


def _loaded(files: Callable[[Path], Iterator[tuple[str, bytes]]]) -> Callable[[Path, int], Entries]:
    """Return the function that lists the files that ``files`` reads into memory. Numbers files of the same name."""

    def entries(path: Path, _: int) -> Entries:
        taken: set[str] = set()
        numbers: Counter[str] = Counter()
        for label, content in files(path):
            name = own = _without_folders(label)
            stem, suffix = posixpath.splitext(own)
            while name in taken:
                numbers[own] += 1
                name = f"{stem} {numbers[own] + 1}{suffix}"
            taken.add(name)
            yield Entry(name, partial(io.BytesIO, content))

    return entries


def _without_folders(label: str) -> str:
    """Return a name without the folder that the file had at its sender, if the name is an absolute path."""
    return _FOLDERS.sub("", label, count=1)


def _office_entries(path: Path, max_bytes: int) -> Entries:
    with _open_zip(path) as archive:
        for info in embedded.office_members(archive):
            name = posixpath.basename(info.filename)
            if not name.endswith(".bin"):
                yield Entry(name, partial(archive.open, info), info.file_size, max(info.compress_size, 1))
            elif info.file_size > max_bytes:  # the zip module reads no more than this size
                raise Exhausted(too_large(max_bytes))
            else:
                for label, content in embedded.object_files(name, archive.read(info)):
                    yield Entry(_without_folders(label), partial(io.BytesIO, content))


ENTRIES: dict[ContainerKind, Callable[[Path, int], Entries]] = {
    ContainerKind.ZIP: _zip_entries,
    ContainerKind.TAR: _tar_entries,
    ContainerKind.COMPRESSED: _compressed_entries,
    ContainerKind.MAIL: _loaded(lambda path: mail.attachments(mail.parse(path.read_bytes()))),
    ContainerKind.MAILBOX: _loaded(lambda path: mail.messages(path.read_bytes())),
    ContainerKind.OUTLOOK: _loaded(outlook.attachments),
    ContainerKind.NOTES: _loaded(embedded.note_files),
    ContainerKind.PDF: _loaded(embedded.pdf_files),
    ContainerKind.OFFICE: _office_entries,
}


class _LimitedStream(io.RawIOBase):
    """A stream that raises Exhausted after ``max_bytes`` and rejects very large reads."""

    def __init__(self, stream: io.BufferedIOBase, max_bytes: int) -> None:
        self._stream, self._max_bytes = stream, max_bytes
        self._position = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _MAX_READ:
            raise tarfile.ReadError(f"a header asks for {size} bytes")
        data = self._stream.read(size)
        self._position += len(data)
        if self._position > self._max_bytes:
            raise Exhausted(too_large(self._max_bytes))
        return data

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Seek forwards, by reading."""
        if whence != io.SEEK_SET or offset < self._position:
            raise tarfile.ReadError("the archive requires reading backwards")
        while self._position < offset and self.read(min(_STEP, offset - self._position)):
            pass
        return self._position

    def close(self) -> None:
        self._stream.close()
        super().close()


def _open_unpacked(path: Path, max_bytes: int) -> IO[bytes]:
    with path.open("rb") as file:
        opener = _opener(file.read(16))
    return cast(IO[bytes], _LimitedStream(opener(path) if opener else path.open("rb"), max_bytes))


def too_large(max_bytes: int) -> str:
    """Return the reason for stopping after this many unpacked bytes."""
    return f"it unpacks to more than {max_bytes // MB} MB"
