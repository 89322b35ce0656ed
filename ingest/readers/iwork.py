"""Reads the PDF preview in files of Pages, Numbers and Keynote, because no library reads these formats."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace

from ingest.errors import EncryptedDocument, UnsupportedFormat
from ingest.reader import Reader, ReadRequest
from ingest.readers.pdf.pdf import read_pdf
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar

_PASSWORD = (".iwpv", ".iwpv2", ".iwph")  # files that check a password, and hint at it
_EXPORT = "Export it as PDF, Word or Excel from its program"


def read_iwork(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the pages of the preview to the builder. Raises UnsupportedFormat if there is none."""
    try:
        with zipfile.ZipFile(io.BytesIO(request.data)) as package:
            if any(name.endswith(_PASSWORD) for name in package.namelist()):
                raise EncryptedDocument(f"{request.path} has a password. Ingest a copy without its password.")
            preview = package.read("QuickLook/Preview.pdf")
    except (KeyError, zipfile.BadZipFile) as error:
        raise UnsupportedFormat(
            f"{request.path} is a file of Pages, Numbers or Keynote, which Candor does not read. {_EXPORT}."
        ) from error
    into.warn(f"Only the preview in the file was read, which may lack pages. {_EXPORT} to read all of it.")
    return read_pdf(replace(request, data=preview), into)


READER = Reader(name="iwork", version=4, read=read_iwork, mime_types=("application/x-iwork*",))
