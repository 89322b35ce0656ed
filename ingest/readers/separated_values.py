"""Reads tables of values separated by commas, semicolons, tabs or pipes."""

from __future__ import annotations

import csv

from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.decoding import decode
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar


def read_separated_values(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the table to the builder; its first row is its header."""
    text = decode(request.data, request.path)
    try:
        dialect: type[csv.Dialect] | csv.Dialect = csv.Sniffer().sniff(text[:16384], delimiters=",;\t|")
    except csv.Error:  # one column: any delimiter fits
        dialect = csv.excel
    into.table(list(csv.reader(text.splitlines(keepends=True), dialect)))
    return {}


READER = Reader(
    name="separated_values",
    version=1,
    read=read_separated_values,
    mime_types=("text/csv", "text/tab-separated-values"),
)
