"""Reads the attachments of Outlook messages (.msg): compound files with a storage for each attachment.

kreuzberg reads the words of the message itself. A message that was passed on lies in its attachment as properties only;
it comes out as an ordinary message with its subject, sender and words.
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
_DATA, _PASSED_ON = "__substg1.0_37010102", "__substg1.0_3701000D"
_LONG_NAME, _NAME, _SHOWN_NAME = 0x3707, 0x3704, 0x3001
_SUBJECT, _SENDER, _SENDER_ADDRESS, _BODY, _HTML = 0x0037, 0x0C1A, 0x0C1F, 0x1000, 0x1013
_MOST_ATTACHMENTS = 10_000

_Place = Sequence[str]


def attachments(path: Path) -> Iterator[tuple[str, bytes]]:
    """Each attachment with its name. Raises OSError or ValueError on damage."""
    import olefile

    try:
        with olefile.OleFileIO(path) as message:
            places = [place for place in message.listdir(streams=False, storages=True) if len(place) == 1]
            found = sorted(place[0] for place in places if place[0].startswith(_ATTACHMENT))
            for number, storage in enumerate(found[:_MOST_ATTACHMENTS], start=1):
                yield from _attachment(message, storage, number)
    except (IndexError, KeyError, AttributeError, TypeError) as error:  # what it runs into where tables are forged
        raise ValueError(f"its tables are damaged ({error})") from error


def _attachment(message: OleFileIO, storage: str, number: int) -> Iterator[tuple[str, bytes]]:
    name = next((text for key in (_LONG_NAME, _NAME, _SHOWN_NAME) if (text := _text(message, [storage], key))), "")
    if message.exists([storage, _DATA]):
        yield name or f"attachment {number}", _bytes(message, [storage, _DATA])
    elif message.exists([storage, _PASSED_ON]):
        yield f"{name or f'attachment {number}'}.eml", _passed_on(message, [storage, _PASSED_ON])


def _passed_on(message: OleFileIO, place: _Place) -> bytes:
    """A message within the message in the form that mail has on its way."""
    mail = EmailMessage()
    sender = (_text(message, place, _SENDER), _text(message, place, _SENDER_ADDRESS))
    for header, value in (("Subject", _text(message, place, _SUBJECT)), ("From", " ".join(filter(None, sender)))):
        if value:
            mail[header] = " ".join(value.split())
    body = _text(message, place, _BODY)
    html = [*place, f"__substg1.0_{_HTML:04X}0102"]
    if body or not message.exists(html):
        mail.set_content(body)
    else:
        mail.set_content(_bytes(message, html), maintype="text", subtype="html")
    return mail.as_bytes()


def _text(message: OleFileIO, place: _Place, key: int) -> str:
    """A property that is text, in Unicode or in the older encoding; empty if there is none."""
    for ending, encoding in (("001F", "utf-16-le"), ("001E", "cp1252")):
        stream = [*place, f"__substg1.0_{key:04X}{ending}"]
        if message.exists(stream):
            return _bytes(message, stream).decode(encoding, errors="replace").rstrip("\0")
    return ""


def _bytes(message: OleFileIO, stream: _Place) -> bytes:
    data: bytes = message.openstream(list(stream)).read()
    return data
