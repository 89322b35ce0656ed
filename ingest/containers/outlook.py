"""Turns Outlook messages (.msg) into internet messages, with their attachments and forwarded messages.

A message is a compound file of properties (MS-OXMSG). Its text is stored as plain text, as HTML, or as compressed RTF,
which ``readers/rtf.py`` reads, with the HTML in it. Old messages store text in a code page: their own, that of the
message around them, or a guess.
"""

from __future__ import annotations

import io
import re
import struct
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from email.encoders import encode_base64
from email.message import Message
from email.mime.base import MIMEBase
from email.mime.message import MIMEMessage
from email.mime.multipart import MIMEMultipart
from email.mime.text import MIMEText
from functools import cached_property
from pathlib import Path

import olefile
from compressed_rtf import decompress

from ingest.containers import mail
from ingest.decoding import Warn, code_page, decode, decode_declared
from ingest.errors import UnsupportedFormat

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_ATTACHMENT, _RECIPIENT, _FORWARDED = "__attach_version1.0_#", "__recip_version1.0_#", "__substg1.0_3701000D"
_FIXED, _NAMES = "__properties_version1.0", "__nameid_version1.0"
_CLASS, _SUBJECT, _BODY, _HTML, _RTF = 0x001A, 0x0037, 0x1000, 0x1013, 0x1009
_CODE_PAGE, _HTML_CODE_PAGE, _UTF_8 = 0x3FFD, 0x3FDE, 65001
_TIMES = (0x0039, 0x0E06, 0x3007)  # sent, received, created
_SENDER, _AUTHOR = (0x0C1A, 0x5D01, 0x0C1F), (0x0042, 0x5D02, 0x0065)  # names and addresses
_RECIPIENT_TYPE, _RECIPIENT_FIELDS = 0x0C15, {"To": (1, 0x0E04), "Cc": (2, 0x0E03), "Bcc": (3, 0x0E02)}
_ADDRESS, _NAME = (0x39FE, 0x3003), 0x3001
_DATA, _FILE_NAMES = 0x3701, (0x3707, 0x3704, _NAME)
_DETAILS: Mapping[str, Mapping[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""Properties of other items by the beginning of their class, with their labels."""
_EPOCH, _LAST_YEAR = datetime(1601, 1, 1, tzinfo=UTC), 4500  # Outlook stores a later year for "no date"
_OLD_TEXT = re.compile(r"__substg1\.0_[0-9A-F]{4}001E")
_BETWEEN = "\f"
_MAX_ATTACHMENTS = 10_000

_Path = tuple[str, ...]


def attachments(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each attachment's name and content. Raises OSError or ValueError for damaged files."""
    yield from mail.attachments(parse(path.read_bytes(), path, lambda _: None))


def parse(data: bytes, path: Path, warn: Warn) -> Message:
    """Return an Outlook message as an internet message. Raises ValueError for damaged files."""
    try:
        with olefile.OleFileIO(io.BytesIO(data)) as file:
            return _Item(_File(file, path, warn), ()).message()
    except (IndexError, KeyError, AttributeError, TypeError, OSError, struct.error, UnsupportedFormat) as error:
        raise ValueError(f"its tables are damaged ({error})") from error


@dataclass(frozen=True)
class _File:
    """An Outlook file (a compound file) and the entries of each of its folders."""

    ole: olefile.OleFileIO
    path: Path
    warn: Warn

    @cached_property
    def members(self) -> Mapping[_Path, Sequence[str]]:
        members: dict[_Path, list[str]] = {}
        for *storage, name in self.ole.listdir(streams=True, storages=True):
            members.setdefault(tuple(storage), []).append(name)
        return members

    @cached_property
    def named(self) -> Mapping[int, int]:
        """The properties that have a number of their own in each file, by their documented number."""
        entries = self.read((_NAMES,), "__substg1.0_00030102")
        found = (struct.unpack_from("<IHH", entries, at) for at in range(0, len(entries) - 7, 8))
        return {number: 0x8000 + index for number, kind, index in found if not kind & 1}

    def read(self, storage: _Path, name: str) -> bytes:
        if name not in self.members.get(storage, ()):
            return b""
        data: bytes = self.ole.openstream([*storage, name]).read()
        return data


@dataclass(frozen=True)
class _Properties:
    """The properties of a message, a recipient or an attachment."""

    file: _File
    storage: _Path
    old_texts: Mapping[_Path, str] = field(default_factory=dict)
    """The texts that are not stored in Unicode."""

    def text(self, *keys: int) -> str:
        """Return the first of these properties that has a text, or ``""``."""
        for key in keys:
            text = self.data(key, "001F").decode("utf-16-le", errors="replace").rstrip("\0")
            if text := text or self.old_texts.get((*self.storage, _stream(key, "001E")), ""):
                return text
        return ""

    def data(self, key: int, kind: str = "0102") -> bytes:
        return self.file.read(self.storage, _stream(key, kind))

    def number(self, key: int) -> int:
        return int.from_bytes(self._fixed.get(key, b"")[:4], "little")

    def time(self, *keys: int) -> datetime | None:
        """Return the first of these properties that has a time."""
        for key in keys:
            ticks = int.from_bytes(self._fixed.get(key, b""), "little")
            if 0 < ticks < (_LAST_YEAR - 1601) * 365 * 24 * 3600 * 10**7:
                return _EPOCH + timedelta(seconds=ticks // 10**7)
        return None

    def address(self, name: int, *addresses: int) -> str:
        """Return a name with its address. Omits internal Exchange addresses."""
        found = next((text for each in addresses if "@" in (text := self.text(each))), "")
        shown = " ".join(self.text(name).replace('"', "'").split())
        if found.lower() in shown.lower():
            return found if shown.strip("'") == found else shown
        return f'"{shown}" <{found}>' if shown else found

    @cached_property
    def _fixed(self) -> Mapping[int, bytes]:
        """The values of fixed size. Before them is a header, whose size depends on the storage."""
        start = 32 if not self.storage else 24 if self.storage[-1] == _FORWARDED else 8
        data = self.file.read(self.storage, _FIXED)
        entries = (data[at : at + 16] for at in range(start, len(data) - 15, 16))
        return {int.from_bytes(entry[2:4], "little"): entry[8:] for entry in entries}


def _stream(key: int, kind: str) -> str:
    return f"__substg1.0_{key:04X}{kind}"


class _Item:
    """A message, or another item of Outlook, at its place in the file."""

    def __init__(self, file: _File, storage: _Path, code_page: int = 0) -> None:
        self._file = file
        self._own = _Properties(file, storage)
        self._code_page = self._own.number(_CODE_PAGE) or self._own.number(_HTML_CODE_PAGE) or code_page
        self._own = replace(self._own, old_texts=self._old_texts())

    def _old_texts(self) -> Mapping[_Path, str]:
        """Decode all texts that are not Unicode together, because a guess of the encoding needs much text."""
        storages = [self._own.storage, *self._storages(_RECIPIENT), *self._storages(_ATTACHMENT)]
        streams = [(each, name) for each in storages for name in self._file.members[each] if _OLD_TEXT.fullmatch(name)]
        separator = _BETWEEN.encode()
        data = b"\n\f\n".join(self._file.read(*each).replace(b"\0", b"").replace(separator, b"") for each in streams)
        label = code_page(self._code_page) if self._code_page else ""
        text = decode_declared(data, label, self._file.warn) if label else None
        if text is None:
            text = decode(data, self._file.path, self._file.warn)
        texts = (part.removeprefix("\n").removesuffix("\n") for part in text.split(_BETWEEN))
        return {(*storage, name): part for (storage, name), part in zip(streams, texts, strict=False)}

    def _storages(self, prefix: str) -> list[_Path]:
        storage = self._own.storage
        found = sorted(name for name in self._file.members.get(storage, ()) if name.startswith(prefix))
        return [path for name in found[:_MAX_ATTACHMENTS] if (path := (*storage, name)) in self._file.members]

    def message(self) -> Message:
        """Return the item as an internet message."""
        details = "\n".join(self._details())
        parts: list[Message] = [MIMEText(details, "plain", "utf-8")] if details else []
        parts.append(_joined("alternative", list(self._bodies())))
        for number, storage in enumerate(self._storages(_ATTACHMENT), start=1):
            parts += self._attached(_Properties(self._file, storage, self._own.old_texts), number)
        message = _joined("mixed", parts)
        for name, value in self._fields().items():
            message[name] = " ".join(value.split())
        return message

    def _fields(self) -> dict[str, str]:
        time = self._own.time(*_TIMES)
        people = {name: ", ".join(self._recipients(*keys)) for name, keys in _RECIPIENT_FIELDS.items()}
        sender, author = self._own.address(*_SENDER), self._own.address(*_AUTHOR)
        if "@" in sender and "@" in author and sender != author:
            sender = f"{sender} on behalf of {author}"
        when = time.isoformat() if time else ""
        fields = {"Subject": self._own.text(_SUBJECT), "From": sender or author, **people, "Date": when}
        return {name: value for name, value in fields.items() if value}

    def _recipients(self, kind: int, shown: int) -> list[str]:
        all_of_them = [_Properties(self._file, each, self._own.old_texts) for each in self._storages(_RECIPIENT)]
        found = [each.address(_NAME, *_ADDRESS) for each in all_of_them if each.number(_RECIPIENT_TYPE) & 0xF == kind]
        return [*filter(None, dict.fromkeys(found))] or [*filter(None, [self._own.text(shown)])]

    def _details(self) -> Iterator[str]:
        """Yield the fields of an appointment, a task or a contact."""
        kind = self._own.text(_CLASS)
        labels = next((found for start, found in _DETAILS.items() if kind.startswith(start)), {})
        for key, label in ((int(number, 16), label) for number, label in labels.items()):
            own = self._file.named.get(key, 0) if key >= 0x8000 else key
            time = self._own.time(own)
            if value := " ".join(self._own.text(own).split()) or (f"{time:%Y-%m-%d %H:%M} UTC" if time else ""):
                yield f"{label}: {value}"

    def _bodies(self) -> Iterator[Message]:
        """Yield the stored versions of the body, plain text first."""
        if (plain := self._own.text(_BODY)).strip():
            yield MIMEText(plain, "plain", "utf-8")
        if page := self._own.data(_HTML).rstrip(b"\0"):
            yield _part("text", "html", page, self._html_charset(page))
        elif html := self._own.text(_HTML):
            yield MIMEText(html, "html", "utf-8")
        elif (rtf := self._rich_text()) and (not plain.strip() or b"\\fromtext" not in rtf[:512]):
            yield _part("text", "rtf", rtf)

    def _html_charset(self, page: bytes) -> str:
        """Return the charset that the message states, unless an HTML body declares another. Valid UTF-8 is no other."""
        number = self._own.number(_HTML_CODE_PAGE)
        is_sure = number == _UTF_8 and "\ufffd" not in page.decode("utf-8", "replace")
        return "" if not number or (b"charset" in page[:2048].lower() and not is_sure) else code_page(number)

    def _rich_text(self) -> bytes:
        packed = self._own.data(_RTF)
        try:
            return decompress(packed) if packed else b""
        except Exception as error:  # noqa: BLE001  # the library has no errors of its own
            self._file.warn(f"The formatted text of the message was not read: it is damaged ({error}).")
            return b""

    def _attached(self, attached: _Properties, number: int) -> Iterator[Message]:
        """Yield the MIME part of an attachment. Signed messages store their whole content as an attachment."""
        name = attached.text(*_FILE_NAMES).replace("\0", "")[:255] or f"attachment {number}"
        forwarded = (*attached.storage, _FORWARDED)
        if _stream(_DATA, "0102") in self._file.members[attached.storage]:
            data = attached.data(_DATA)
            yield (
                _signed(data)
                if self._own.text(_CLASS).startswith("IPM.Note.SMIME")
                else _named(_part("application", "octet-stream", data), name)
            )
        elif any(each.startswith("__substg1.0_") for each in self._file.members.get(forwarded, ())):
            inner = _Item(self._file, forwarded, self._code_page).message()
            yield _named(MIMEMessage(inner), name.replace("/", "_").replace("\\", "_") + ".eml")
        else:
            self._file.warn(f"The attachment {name} was not read: the file only holds a link to it, or an object.")


def _joined(kind: str, parts: Sequence[Message]) -> Message:
    return parts[0] if len(parts) == 1 else MIMEMultipart(kind, _subparts=parts)


def _part(main: str, kind: str, data: bytes, charset: str = "") -> Message:
    part = MIMEBase(main, kind)
    if charset:
        part.set_param("charset", charset)
    part.set_payload(data)
    encode_base64(part)
    return part


def _named(part: Message, name: str) -> Message:
    part.add_header("Content-Disposition", "attachment", filename=("utf-8", "", name))
    return part


def _signed(data: bytes) -> Message:
    """Return the message in the attachment of a signed message. Other such messages are encrypted."""
    inner = mail.parse(data)
    return inner if inner.get_content_type() == "multipart/signed" else MIMEMultipart("encrypted")
