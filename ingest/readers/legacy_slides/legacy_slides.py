"""Reads old PowerPoint files (.ppt): a page per slide, as .pptx.

Older and damaged files are read with kreuzberg and a warning, because it repeats their text and has no slides.
"""

from __future__ import annotations

from dataclasses import replace

from ingest.reader import Reader, ReadRequest
from ingest.readers.legacy_slides.convert import converted
from ingest.readers.legacy_slides.records import Presentation
from ingest.readers.other_formats import read_other_format
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.encryption import require_unencrypted
from ingest.readers.shared.kreuzberg_library import LIBRARY
from ingest.readers.shared.old_properties import DAMAGE, read_properties
from ingest.readers.slides import read_presentation
from vectorstore.models import Scalar


def read_legacy_slides(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the slides' blocks and pages to the builder; return the properties of the presentation."""
    require_unencrypted(request.data, request.path)
    try:
        package = converted(Presentation(request.data))
        properties = read_properties(request.data)
    except DAMAGE as error:
        into.warn(f"The slides were read without their order, notes and tables: {error}.")
        return read_other_format(request, into)
    read_presentation(replace(request, data=package), into)
    return properties


READER = Reader(
    name="legacy_slides",
    version=2,
    read=read_legacy_slides,
    mime_types=("application/vnd.ms-powerpoint",),
    library=LIBRARY,
)
