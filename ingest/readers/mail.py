"""Reads messages (.eml, .msg): header fields, text and invitations. Attachments become separate documents.

kreuzberg ignores declared character sets of East Asia, HTML beside plain text, tables of HTML, and invitations.
"""

from __future__ import annotations

import re
from dataclasses import replace
from email.message import Message

from ingest.containers import mail, outlook
from ingest.decoding import decode, decode_declared
from ingest.errors import CorruptDocument
from ingest.reader import Reader, ReadRequest
from ingest.readers.calendar import write_entries
from ingest.readers.markup.html import write_page
from ingest.readers.markup.tree import decode_markup
from ingest.readers.rtf import encapsulated_html, read_rtf
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.kreuzberg_library import LIBRARY
from ingest.readers.text import write_text
from vectorstore.models import Scalar

_FIELDS = {"Subject": "subject", "From": "from_email", "To": "to_emails", "Cc": "", "Bcc": "", "Date": "created_at"}
"""The fields that are part of the text, with their names as properties."""
_PAGES = ("text/html", "text/rtf")
_FLOWED = re.compile(r"(?<!^--) \n(?!>)", re.MULTILINE)
_WORD = re.compile(r"\w+")
_STUB = 0.8  # share of the words of the HTML that a text of the same message has if it is no stub


def read_mail(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the message's fields and text to the builder; return its fields as properties."""
    try:
        is_outlook = request.data.startswith(outlook.SIGNATURE)
        message = outlook.parse(request.data, request.path, into.warn) if is_outlook else mail.parse(request.data)
    except ValueError as error:
        raise CorruptDocument(f"{request.path} is damaged: {error}. Export it again.") from error
    fields = {name: value for name in _FIELDS if (value := mail.field(message, name))}
    into.prose("\n".join(f"{name}: {value}" for name, value in fields.items()))
    _Body(request, into).write(message)
    return {key: fields[name] for name, key in _FIELDS.items() if key and name in fields}


class _Body:
    """Writes the parts of a message that its program shows as its text."""

    def __init__(self, request: ReadRequest, into: DocumentBuilder) -> None:
        self._request, self._into = request, into

    def write(self, part: Message) -> None:
        """Write a part and the parts in it."""
        kind = part.get_content_type()
        if mail.is_sealed(part):
            self._into.warn("The text of the message is encrypted or sealed (S/MIME), and was not read.")
        elif kind == "message/delivery-status":
            self._into.prose("\n".join(each.as_string().strip() for each in _parts(part)))
        elif kind == "multipart/alternative":
            for each in self._chosen(_parts(part)):
                self.write(each)
        elif part.is_multipart():
            for each in _parts(part):
                if not mail.is_file(each):
                    self.write(each)
        elif part.get_content_maintype() == "text":
            self._write_text(part, kind)

    def _chosen(self, parts: list[Message]) -> list[Message]:
        """Return the plain text of a message, or its HTML if the plain text lacks words of it, and any invitation."""
        plain = [part for part in parts if part.get_content_type() == "text/plain"]
        pages = [part for part in parts if part.get_content_type() != "text/plain" and _text_part(part) is not None]
        others = [part for part in parts if part.get_content_type() == "text/calendar"]
        if plain and pages:
            shown = set(_WORD.findall(self._text_of(pages[-1])))
            is_stub = len(shown & set(_WORD.findall(self._decoded(plain[0])))) < _STUB * len(shown)
            return [*(pages[-1:] if is_stub else plain[:1]), *others]
        return [*(plain[:1] or pages[-1:] or [part for part in parts if part.is_multipart()][-1:]), *others]

    def _text_of(self, part: Message) -> str:
        """Return the text of an HTML or RTF part."""
        inside = DocumentBuilder()
        page = _text_part(part)
        if page is not None:
            self._write_page(page, inside)
        return inside.text

    def _write_page(self, part: Message, into: DocumentBuilder) -> None:
        if part.get_content_type() == "text/html":
            write_page(self._decoded(part), into, is_mail=True)
        elif html := encapsulated_html(mail.payload(part)):
            write_page(html, into, is_mail=True)
        else:
            read_rtf(replace(self._request, data=mail.payload(part), mime_type="application/rtf"), into)

    def _write_text(self, part: Message, kind: str) -> None:
        if kind in _PAGES:
            self._write_page(part, self._into)
            return
        text = self._decoded(part)
        if kind in ("text/calendar", "text/vcard", "text/x-vcard", "text/directory"):
            write_entries(text, self._into)
        else:
            if part.get_param("format") == "flowed":
                between = "" if part.get_param("delsp") == "yes" else " "
                text = _FLOWED.sub(between, text.replace("\r\n", "\n"))
            write_text(text, self._into)

    def _decoded(self, part: Message) -> str:
        data = mail.payload(part)
        charset = part.get_param("charset")
        text = decode_declared(data, charset, self._into.warn) if isinstance(charset, str) else None
        if text is not None:
            return text
        by_content = decode_markup if part.get_content_type() == "text/html" else decode
        return by_content(data, self._request.path, self._into.warn)


def _parts(part: Message) -> list[Message]:
    payload = part.get_payload()
    return [each for each in payload if isinstance(each, Message)] if isinstance(payload, list) else []


def _text_part(part: Message) -> Message | None:
    """Return the HTML or RTF in a part, which may come with its pictures, or None."""
    return next((each for each in part.walk() if each.get_content_type() in _PAGES), None)


READER = Reader(
    name="mail",
    version=12,
    read=read_mail,
    mime_types=("message/rfc822", "application/vnd.ms-outlook"),
    library=LIBRARY,
)
