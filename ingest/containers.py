"""Takes archives and messages apart: each file in one is written into a folder, to be parsed as a document of its own.

Owns the limits on what comes out, and what is refused: nothing is ever written under a name from inside an archive, so
no name can lead out of the folder. Office files and books, which are zip archives too, are documents and no containers.
"""

from __future__ import annotations

import bz2
import errno
import gzip
import io
import lzma
import mimetypes
import re
import stat
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header, make_header
from email.message import Message
from enum import StrEnum
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, NamedTuple, cast

from pydantic import Field

from ingest.errors import UnreadableFile, UnsupportedFormat
from vectorstore.models import Value

REST = "(the rest)"
"""Name of the refused member that stands for all that was not looked at any more."""

_MB = 1 << 20
_STEP = 1 << 18
_UNSUSPICIOUS = 10 * _MB  # whatever the ratio, this much may come out
_LARGEST_READ = 64 * _MB  # more at once is asked for by forged headers only
_LONGEST_NAME = 1000
_MOST_LISTED = 100_000  # files in a zip archive, whose list is read into memory before anything else
_LIST_ENTRY = b"PK\x01\x02"
_DAMAGE = (
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, struct.error, EOFError, OSError, ValueError,
    OverflowError, RuntimeError,
)  # fmt: skip
"""What the libraries raise on damaged files; RuntimeErrors are what they do not know, and what is nested too deeply."""
_OPENERS: dict[bytes, Callable[[Path], io.BufferedIOBase]] = {
    b"\x1f\x8b": gzip.GzipFile,
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
_DOCUMENT_MARKS = {"[Content_Types].xml", "mimetype", "META-INF/container.xml", "Index/Document.iwa", "Index.zip"}
"""Members that only zip archives have which are documents: Office Open XML, OpenDocument, EPUB, iWork."""


class ContainerKind(StrEnum):
    """What holds other files."""

    ZIP = "zip"
    TAR = "tar"
    COMPRESSED = "compressed"
    MAIL = "mail"

    @property
    def is_document(self) -> bool:
        """Whether it has a text of its own beside the files in it."""
        return self is ContainerKind.MAIL


class ContainerLimits(Value):
    """How much may come out of one container, those nested in it included."""

    members: int = Field(default=10_000, gt=0)
    total_mb: int = Field(default=2048, gt=0)
    member_mb: int = Field(default=200, gt=0)
    ratio: int = Field(default=200, gt=1, description="unpacked size to packed size, from 10 MB on")
    depth: int = Field(default=3, gt=0, description="containers in containers")


class Member(Value):
    """A file in a container: ``path`` is where it was written, or None with the ``reason`` why it was refused."""

    name: str = Field(description="where it lies in the container, with '/': 'inner/file.pdf', 'inner.zip/file.pdf'")
    path: Path | None = None
    reason: str = ""


def container_kind(path: Path) -> ContainerKind | None:
    """What kind of container the file is, by its content; None if it is none. Raises UnreadableFile."""
    try:
        with path.open("rb") as file:
            head = file.read(512)
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read ({error.strerror}). Check its rights and its disk.") from error
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _kind_of_zip(path)
    if head[257:262] == b"ustar":
        return ContainerKind.TAR
    if (opener := _opener(head)) is not None:
        return ContainerKind.TAR if _holds_tar(path, opener) else ContainerKind.COMPRESSED
    return ContainerKind.MAIL if path.suffix.lower() == ".eml" else None


def expand(path: Path, limits: ContainerLimits, folder: Path) -> Iterator[Member]:
    """Write the files in a container into the folder, one by one, and those of containers in it.

    Whatever goes wrong is said of a member, of the member REST if the container cannot be read on. Each file lies in a
    folder of its own, under a name like its own; the caller may remove it once the next one is asked for. Raises
    UnsupportedFormat if the file is no container.
    """
    kind = container_kind(path)
    if kind is None:
        raise UnsupportedFormat(f"{path} is neither an archive nor a message.")
    yield from _Expansion(limits, folder, path.stat().st_size).expand(path, kind, prefix="", depth=1)


def _kind_of_zip(path: Path) -> ContainerKind | None:
    try:
        with _opened_zip(path) as archive:
            return None if _DOCUMENT_MARKS & set(archive.namelist()[:50]) else ContainerKind.ZIP
    except _DAMAGE:  # a damaged document is its parser's to refuse
        return ContainerKind.ZIP if path.suffix.lower() == ".zip" else None


def _opener(head: bytes) -> Callable[[Path], io.BufferedIOBase] | None:
    return next((opener for mark, opener in _OPENERS.items() if head.startswith(mark)), None)


def _holds_tar(path: Path, opener: Callable[[Path], io.BufferedIOBase]) -> bool:
    try:
        with opener(path) as stream:
            return stream.read(512)[257:262] == b"ustar"
    except _DAMAGE:
        return ".tar" in path.name.lower() or path.suffix.lower() in (".tgz", ".tbz2", ".txz")


class _Refused(Exception):
    """A member that is not taken out; the message says why."""


class _Exhausted(Exception):
    """Nothing more is taken out of the container; the message says why."""


class _Entry(NamedTuple):
    """A file in a container, before it is taken out."""

    name: str
    open: Callable[[], IO[bytes]]
    size: int = 0  # as the container says, which may lie
    packed: int = 0  # its size in the container, where it is packed by itself
    refusal: str = ""


_Entries = Generator[_Entry, None, None]


class _Expansion:
    """One container with all that is nested in it: the limits are for them together."""

    def __init__(self, limits: ContainerLimits, folder: Path, size: int) -> None:
        self._limits = limits
        self._folder = folder
        self._members = 0
        self._bytes = 0
        self._most_bytes = min(limits.total_mb * _MB, max(_UNSUSPICIOUS, limits.ratio * size))

    def expand(self, path: Path, kind: ContainerKind, prefix: str, depth: int) -> Iterator[Member]:
        """The files in a container, each with its name after the prefix."""
        seen: set[str] = set()
        try:
            with closing(_ENTRIES[kind](path, self._most_bytes)) as entries:
                for entry in entries:
                    if depth > self._limits.depth:
                        raise _Exhausted(f"containers are nested more than {self._limits.depth} deep")
                    try:
                        member = self._take(entry, prefix, seen)
                    except _Refused as refusal:
                        yield Member(name=prefix + _shown(entry.name), reason=str(refusal))
                    else:
                        yield from self._with_nested(member, depth)
        except _Exhausted as end:
            yield Member(name=prefix + REST, reason=str(end))
        except _DAMAGE as error:
            if _is_of_system(error):
                raise UnreadableFile(f"{path} cannot be taken apart in {self._folder}: {error}.") from error
            yield Member(name=prefix + REST, reason=f"the {kind} file is damaged: {_said(error)}")

    def _with_nested(self, member: tuple[str, Path], depth: int) -> Iterator[Member]:
        """The file itself, if it is a document, and those in it."""
        name, path = member
        kind = container_kind(path)
        if kind is None or kind.is_document:
            yield Member(name=name, path=path)
        if kind is not None:
            yield from self.expand(path, kind, prefix=f"{name}/", depth=depth + 1)
            if not kind.is_document:
                path.unlink(missing_ok=True)

    def _take(self, entry: _Entry, prefix: str, seen: set[str]) -> tuple[str, Path]:
        """Write the file; its name and where it lies now."""
        self._members += 1
        if self._members > self._limits.members:
            raise _Exhausted(f"there are more than {self._limits.members} files in it")
        name = _safe(entry.name)
        if entry.refusal:
            raise _Refused(entry.refusal)
        self._check_size(entry.size, entry.packed)
        if name in seen:
            raise _Refused("there is another file of that name in it")
        seen.add(name)
        path = Path(tempfile.mkdtemp(dir=self._folder)) / _file_name(name)
        try:
            with entry.open() as source, path.open("wb") as target:
                self._copy(source, target, entry.packed)
        except BaseException as error:
            path.unlink(missing_ok=True)
            path.parent.rmdir()
            if isinstance(error, NotImplementedError | RuntimeError):  # a method of packing that is not known
                raise _Refused(f"it cannot be unpacked: {_said(error)}") from error
            if (
                entry.packed and isinstance(error, _DAMAGE) and not _is_of_system(error)
            ):  # packed by itself: the others may be sound
                raise _Refused(f"it is damaged: {_said(error)}") from error
            raise
        return prefix + name, path

    def _copy(self, source: IO[bytes], target: IO[bytes], packed: int) -> None:
        written = 0
        while part := source.read(_STEP):
            written += len(part)
            self._bytes += len(part)
            if self._bytes > self._most_bytes:
                raise _Exhausted(_too_much(self._most_bytes))
            self._check_size(written, packed)
            target.write(part)

    def _check_size(self, size: int, packed: int) -> None:
        if size > self._limits.member_mb * _MB:
            raise _Refused(f"it is larger than {self._limits.member_mb} MB")
        if packed and size > max(_UNSUSPICIOUS, self._limits.ratio * packed):
            raise _Refused(f"it unpacks to more than {self._limits.ratio} times its size, as only bombs do")


# Names


def _safe(name: str) -> str:
    """The name with '/' between its parts. Refuses those that would lead somewhere else, or are none."""
    parts = [part for part in name.replace("\\", "/").split("/") if part not in ("", ".")]
    if name.startswith(("/", "\\")) or re.match(r"[A-Za-z]:", name):
        raise _Refused("its name is an absolute path")
    if ".." in parts:
        raise _Refused("its name leads out of the container")
    if not parts or "\0" in name or len(name) > _LONGEST_NAME:
        raise _Refused("its name is empty, too long, or no name")
    if any(part.startswith(".") or part == "__MACOSX" for part in parts):
        raise _Refused("hidden")
    return _shown("/".join(parts))


def _shown(name: str) -> str:
    """The name with what cannot be shown or stored written as escapes, and not endless."""
    shown = "".join(character if character.isprintable() else repr(character)[1:-1] for character in name)
    return shown[:_LONGEST_NAME] or "(no name)"


def _file_name(name: str) -> str:
    """A name for the copy that any file system takes, with the same ending."""
    path = PurePosixPath(re.sub(r"[^\w. ()\[\]+,=@~-]", "_", PurePosixPath(name).name))
    return path.stem[:50] + path.suffix[:20]


def _is_of_system(error: BaseException) -> bool:
    """Whether the operating system failed, and not the container: libraries raise OSErrors without a number.

    An invalid argument is a place in the file that the container names and that cannot be.
    """
    return isinstance(error, OSError) and error.errno not in (None, errno.EINVAL)


def _said(error: BaseException) -> str:
    return str(error) or type(error).__name__


def _too_much(most_bytes: int) -> str:
    return f"it unpacks to more than {most_bytes // _MB} MB"


# What is in a container, per kind


def _zip_entries(path: Path, _: int) -> _Entries:
    with _opened_zip(path) as archive:
        for info in archive.infolist():
            if not info.is_dir():
                yield _Entry(
                    info.filename,
                    partial(archive.open, info),
                    info.file_size,
                    max(info.compress_size, 1),
                    _refusal(info),
                )


def _opened_zip(path: Path) -> zipfile.ZipFile:
    with path.open("rb") as file:
        listed = sum(part.count(_LIST_ENTRY) for part in iter(partial(file.read, 16 * _MB), b""))
    if listed > _MOST_LISTED:
        raise zipfile.BadZipFile(f"it lists more than {_MOST_LISTED} files")
    return zipfile.ZipFile(path)


def _refusal(info: zipfile.ZipInfo) -> str:
    if info.flag_bits & 0x1:
        return "it is encrypted"
    mode = info.external_attr >> 16
    return "" if stat.S_IFMT(mode) in (0, stat.S_IFREG) else "it is a link or a device"


def _tar_entries(path: Path, most_bytes: int) -> _Entries:
    with _unpacked(path, most_bytes) as stream, tarfile.open(fileobj=stream, mode="r:") as archive:
        for info in archive:
            if info.isreg():
                yield _Entry(info.name, partial(_content, archive, info))
            elif not info.isdir():
                yield _Entry(info.name, _nothing, refusal="it is a link or a device")


def _content(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    return archive.extractfile(info) or _nothing()


def _nothing() -> IO[bytes]:
    return io.BytesIO()


def _compressed_entries(path: Path, most_bytes: int) -> _Entries:
    yield _Entry(path.stem if path.suffix else f"{path.name}.unpacked", lambda: _unpacked(path, most_bytes))


def _mail_entries(path: Path, _: int) -> _Entries:
    message = message_from_bytes(path.read_bytes(), policy=policy.compat32)
    for number, part in enumerate(_attachments(message), start=1):
        yield _Entry(_attachment_name(part, number), partial(io.BytesIO, _payload(part)))


_ENTRIES: dict[ContainerKind, Callable[[Path, int], _Entries]] = {
    ContainerKind.ZIP: _zip_entries,
    ContainerKind.TAR: _tar_entries,
    ContainerKind.COMPRESSED: _compressed_entries,
    ContainerKind.MAIL: _mail_entries,
}


def _attachments(message: Message) -> Iterator[Message]:
    """The parts that are files: those with a name or marked as attachments, and messages that were passed on."""
    if not message.is_multipart():
        return
    for part in message.get_payload():
        if not isinstance(part, Message):
            continue
        if part.get_content_type() == "message/rfc822" or _is_file(part):
            yield part
        else:
            yield from _attachments(part)


def _is_file(part: Message) -> bool:
    disposition = part.get_content_disposition()
    if disposition == "attachment":
        return True
    is_shown = part.get_content_maintype() == "image" and (disposition == "inline" or "content-id" in part)
    return bool(part.get_filename()) and not part.is_multipart() and not is_shown


def _payload(part: Message) -> bytes:
    content = part.get_payload(0) if part.get_content_type() == "message/rfc822" else part
    if content is not part:
        return content.as_bytes() if isinstance(content, Message) else b""
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _attachment_name(part: Message, number: int) -> str:
    name = part.get_filename()
    if name is None:
        ending = (
            ".eml"
            if part.get_content_type() == "message/rfc822"
            else mimetypes.guess_extension(part.get_content_type())
        )
        return f"attachment {number}{ending or ''}"
    try:
        return str(make_header(decode_header(name)))
    except (HeaderParseError, LookupError, UnicodeError):
        return name


class _Metered(io.RawIOBase):
    """A stream that gives no more than so many bytes, and never too many at once."""

    def __init__(self, stream: io.BufferedIOBase, most_bytes: int) -> None:
        self._stream = stream
        self._most_bytes = most_bytes
        self._position = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        if not 0 <= size <= _LARGEST_READ:
            raise tarfile.ReadError(f"a header asks for {size} bytes")
        data = self._stream.read(size)
        self._position += len(data)
        if self._position > self._most_bytes:
            raise _Exhausted(_too_much(self._most_bytes))
        return data

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Forwards only, by reading."""
        if whence != io.SEEK_SET or offset < self._position:
            raise tarfile.ReadError("the archive asks to be read backwards")
        while self._position < offset and self.read(min(_STEP, offset - self._position)):
            pass
        return self._position

    def close(self) -> None:
        self._stream.close()
        super().close()


def _unpacked(path: Path, most_bytes: int) -> IO[bytes]:
    with path.open("rb") as file:
        opener = _opener(file.read(16))
    return cast(IO[bytes], _Metered(opener(path) if opener else path.open("rb"), most_bytes))
