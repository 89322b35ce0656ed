"""Reads images with one or more pages by text recognition."""

from __future__ import annotations

from ingest.errors import EmptyImage
from ingest.reader import Reader, ReadRequest
from ingest.readers.pdf.ocr import ScanReader, list_pictured
from ingest.readers.pdf.pdf import write_pages
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar


def read_image(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the recognised blocks and pages to the builder. Return metadata that names the recognised pages."""
    scans = ScanReader(request.options, request.path)
    write_pages(scans.image(request.data), into)
    if into.is_empty:
        raise EmptyImage(scans.empty_reason())
    return scans.report(into) | list_pictured([*scans.recognised])


READER = Reader(name="image", version=4, read=read_image, mime_types=("image/*",))
