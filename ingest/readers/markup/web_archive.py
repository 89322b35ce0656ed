"""Reads web pages that are saved as one file (MHTML)."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes, policy

from ingest.errors import CorruptDocument
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.html import read_html
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar


def read_web_archive(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the blocks of the page and of its frames to the builder. Return the properties of the page."""
    message = message_from_bytes(request.data, policy=policy.compat32)
    pages = [part.get_payload(decode=True) for part in message.walk() if part.get_content_type() == "text/html"]
    properties = [read_html(replace(request, data=page), into) for page in pages if isinstance(page, bytes)]
    if not properties:
        raise CorruptDocument(f"{request.path} contains no web page. Save the page again as HTML or PDF.")
    return properties[0]


READER = Reader(name="web_archive", version=11, read=read_web_archive, suffixes=(".mht", ".mhtml"))
