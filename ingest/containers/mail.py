"""Parses messages (.eml) and mailboxes (.mbox): header fields, attachments, and the messages of a mailbox."""

from __future__ import annotations

import base64
import mimetypes
import re
from collections.abc import Iterator
from contextlib import suppress
from email import message_from_bytes, policy
from email.errors import HeaderParseError
from email.header import decode_header
from email.message import Message
from pathlib import Path

from ingest.decoding import decode, decode_declared
from ingest.errors import UnsupportedFormat

_MAX_FIELD = 8192  # characters of a field such as Content-Type, with its parameters
_NEXT_MESSAGE = re.compile(rb"(?:\A|(?<=\n\n)|(?<=\n\r\n))From \S{0,200}[ \t][^\n]{0,80}?\d\d:\d\d[^\n]{0,80}\n")
"""The line before each message of a mailbox, with its sender and date."""
_SEALED = ("multipart/encrypted", "application/pkcs7-mime", "application/x-pkcs7-mime")
_ESCAPED_FROM = re.compile(rb"^>(>*From )", re.MULTILINE)
_BLANK_LINE = re.compile(rb"\r?\n\r?\n")


class _ShortFields(policy.Compat32):
    """Rejects mails with a very long field of a part, because Python needs quadratic time to read its parameters.

    Other fields, such as a long list of recipients, are not read here.
    """

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        if name.lower().startswith("content-") and len(value) > _MAX_FIELD:
            raise ValueError(f"its field {name} has {len(value):,} characters, but the limit is {_MAX_FIELD:,}")
        return name, value

    def header_fetch_parse(self, name: str, value: str) -> str:
        """Return a field as it stands. The standard one replaces bytes that are not ASCII."""
        return value


def parse(data: bytes) -> Message:
    """Parse a message. Raises ValueError for forged fields, RecursionError for parts nested too deeply."""
    return message_from_bytes(data, policy=_ShortFields())


def field(message: Message, name: str) -> str:
    """Return the decoded value of a header field on one line, or ``""``. Ignores character sets that do not fit."""
    raw = next((value for key, value in message.raw_items() if key.lower() == name.lower()), "")
    return " ".join(_decoded(str(raw)).split())


def _decoded(value: str) -> str:
    try:
        parts = decode_header(value)
    except (HeaderParseError, ValueError):  # ValueError: invalid base64
        parts = [(value, None)]
    return "".join(_decoded_part(text, charset) for text, charset in parts)


def _decoded_part(part: str | bytes, charset: str | None) -> str:
    """Decode a part of a field. Its encoding may be missing although it is not ASCII."""
    data = part.encode("utf-8", "surrogateescape") if isinstance(part, str) else part
    declared = decode_declared(data, charset, _ignore) if charset else None
    if declared is not None:
        return declared
    try:
        return decode(data.replace(b"\0", b""), Path("field"), _ignore)
    except UnsupportedFormat:  # a field in no known encoding must not make the message unreadable
        return data.decode("utf-8", "replace")


def _ignore(_: str) -> None:
    """Ignore the warning that the encoding of a field is a guess."""


def attachments(message: Message) -> Iterator[tuple[str, bytes]]:
    """Yield the name and content of each attached file and forwarded message.

    A message without parts may be a file itself, such as a fax.
    """
    is_one_file = message.get_content_maintype() not in ("text", "message", "multipart") and not is_sealed(message)
    for number, part in enumerate([message] if is_one_file else _files(message), start=1):
        yield _attachment_name(part, number), payload(part)


def is_mailbox(head: bytes) -> bool:
    """Return whether a file with this beginning is a mailbox (mbox)."""
    first = _NEXT_MESSAGE.match(head)
    return first is not None and re.match(rb"[!-9;-~]+:|>From ", head[first.end() :]) is not None


def messages(data: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the messages of a mailbox with a name: their number and subject."""
    starts = list(_NEXT_MESSAGE.finditer(data))
    width = len(str(len(starts)))
    for number, (start, end) in enumerate(zip(starts, [*starts[1:], None], strict=False), start=1):
        content = _ESCAPED_FROM.sub(rb"\1", data[start.end() : end.start() if end else len(data)])
        yield f"{number:0{width}} {_subject(content) or 'no subject'}.eml", content


def _subject(content: bytes) -> str:
    try:
        return field(parse(_BLANK_LINE.split(content, maxsplit=1)[0]), "Subject").replace("/", "_")[:80]
    except ValueError:  # a forged field; the message itself says so when it is read
        return ""


def is_file(part: Message) -> bool:
    """Return whether a part is a file: a named part, an attachment, a forwarded message, or content other than text."""
    disposition, kind = part.get_content_disposition(), part.get_content_maintype()
    if part.get_content_type() == "message/rfc822" or disposition == "attachment":
        return True
    is_shown = kind == "image" and (disposition == "inline" or "content-id" in part)
    is_other = kind not in ("text", "message") and part.get_content_type() != "application/pgp-encrypted"
    return (bool(part.get_filename()) or is_other) and not part.is_multipart() and not is_shown


def is_sealed(part: Message) -> bool:
    """Return whether a part is an encrypted message, or an S/MIME message that is wrapped in its signature."""
    return part.get_content_type() in _SEALED


def _files(message: Message) -> Iterator[Message]:
    """Yield the parts that are files, in a message that is not encrypted."""
    if is_sealed(message) or not message.is_multipart():
        return
    for part in message.get_payload():
        if not isinstance(part, Message):
            continue
        if is_file(part):
            yield part
        else:
            yield from _files(part)


def payload(part: Message) -> bytes:
    """Return the content of a part, or the message in it."""
    if part.get_content_type() != "message/rfc822":
        decoded = part.get_payload(decode=True)
        return decoded if isinstance(decoded, bytes) else b""
    inner = part.get_payload(0)
    if not isinstance(inner, Message):
        return b""
    # Some programs encode attached messages, which the standard forbids. Python then finds no fields in them.
    if str(part["Content-Transfer-Encoding"]).strip().lower() == "base64" and not inner.keys():
        with suppress(ValueError):
            return base64.b64decode(inner.as_bytes())
    return inner.as_bytes()


def _attachment_name(part: Message, number: int) -> str:
    if name := part.get_filename():
        return _decoded(name)
    kind = part.get_content_type()
    suffix = ".eml" if kind == "message/rfc822" else mimetypes.guess_extension(kind) or ""
    return f"attachment {number}{suffix}"
