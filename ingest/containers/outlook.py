"""Reads the attachments of Outlook messages (.msg): compound files with a storage for each attachment.

kreuzberg reads the text of the message itself. A forwarded message is stored as properties. It is returned as an
internet message with its subject, sender and text.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from email.message import EmailMessage
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from olefile import OleFileIO

SIGNATURE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"

_ATTACHMENT = "__attach_version1.0_#"
_DATA, _FORWARDED = "__substg1.0_37010102", "__substg1.0_3701000D"
_LONG_NAME, _NAME, _DISPLAY_NAME = 0x3707, 0x3704, 0x3001
_SUBJECT, _SENDER, _SENDER_ADDRESS, _BODY, _HTML = 0x0037, 0x0C1A, 0x0C1F, 0x1000, 0x1013
_MAX_ATTACHMENTS = 10_000

_StoragePath = Sequence[str]


def attachments(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each attachment's name and content. Raises OSError or ValueError for damaged files."""
    import olefile

    try:
        with olefile.OleFileIO(path) as message:
            storages = [path for path in message.listdir(streams=False, storages=True) if len(path) == 1]
            found = sorted(path[0] for path in storages if path[0].startswith(_ATTACHMENT))
            for number, storage in enumerate(found[:_MAX_ATTACHMENTS], start=1):
                yield from _attachment(message, storage, number)
    except (IndexError, KeyError, AttributeError, TypeError) as error:  # raised for forged tables
        raise ValueError(f"its tables are damaged ({error})") from error


def _attachment(message: OleFileIO, storage: str, number: int) -> Iterator[tuple[str, bytes]]:
    name = next((text for key in (_LONG_NAME, _NAME, _DISPLAY_NAME) if (text := _text(message, [storage], key))), "")
    if message.exists([storage, _DATA]):
        yield name or f"attachment {number}", _bytes(message, [storage, _DATA])
    elif message.exists([storage, _FORWARDED]):
        yield f"{name or f'attachment {number}'}.eml", _forwarded_message(message, [storage, _FORWARDED])


def _forwarded_message(message: OleFileIO, storage: _StoragePath) -> bytes:
    """Return the forwarded message in this storage as an internet message."""
    mail = EmailMessage()
    sender = (_text(message, storage, _SENDER), _text(message, storage, _SENDER_ADDRESS))
    for header, value in (("Subject", _text(message, storage, _SUBJECT)), ("From", " ".join(filter(None, sender)))):
        if value:
            mail[header] = " ".join(value.split())
    body = _text(message, storage, _BODY)
    html = [*storage, f"__substg1.0_{_HTML:04X}0102"]
    if body or not message.exists(html):
        mail.set_content(body)
    else:
        mail.set_content(_bytes(message, html), maintype="text", subtype="html")
    return mail.as_bytes()


def _text(message: OleFileIO, storage: _StoragePath, key: int) -> str:
    """Return a text property, stored in Unicode or in the older encoding, or ``""``."""
    for suffix, encoding in (("001F", "utf-16-le"), ("001E", "cp1252")):
        stream = [*storage, f"__substg1.0_{key:04X}{suffix}"]
        if message.exists(stream):
            return _bytes(message, stream).decode(encoding, errors="replace").rstrip("\0")
    return ""


def _bytes(message: OleFileIO, stream: _StoragePath) -> bytes:
    data: bytes = message.openstream(list(stream)).read()
    return data
