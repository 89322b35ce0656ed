"""Reads lists of references in RIS and PubMed format (.ris, .nbib): a heading per record and a line per field.

kreuzberg reads only their titles. It reads BibTeX (.bib) well, apart from the commands that are replaced here before.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.other_formats import read_other_format
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.kreuzberg_library import LIBRARY
from ingest.readers.text import write_text
from vectorstore.models import Scalar

_FIELD = re.compile(r"(?=.{4}-)(?P<tag>[A-Z][A-Z0-9]{1,3}) {0,2}-(?: |$)(?P<value>.*)")
_FIRST = {"TY", "PMID"}
_TITLES = ("TI", "T1", "BTI", "CTI", "TT", "ST")
_TABLES: dict[str, dict[str, str]] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_BIBTEX = "application/x-bibtex"


def read_references(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the records to the builder. A file without one is read as text."""
    text = decode(request.data, request.path, into.warn)
    if request.mime_type == _BIBTEX:
        for command, shown in _TABLES["tex"].items():
            text = re.sub(command, shown, text)
        return read_other_format(replace(request, data=text.encode("utf-8", "replace")), into)
    lines = text.strip("\ufeff").splitlines()
    if any(map(_FIELD.match, lines)):
        for record in _records(lines):
            _write(record, into)
    else:
        into.warn("The file has no reference in this format. It was read as text.")
        write_text(text, into)
    return {}


def _records(lines: list[str]) -> Iterator[list[tuple[str, str]]]:
    """Yield the fields of each record. A line without a tag continues the field above it."""
    record: list[tuple[str, list[str]]] = []
    for line in [*lines, "ER  - "]:
        field = _FIELD.match(line)
        tag = field["tag"] if field else ""
        if tag == "ER" or tag in _FIRST:
            yield [(name, " ".join(" ".join(values).split())) for name, values in record]
            record = []
        if field and tag != "ER":
            record.append((tag, [field["value"]]))
        elif record:
            record[-1][1].append(line)
        elif not field:
            record.append(("", [line]))


def _write(record: list[tuple[str, str]], into: DocumentBuilder) -> None:
    title = next((field for tag in _TITLES for field in record if field[0] == tag and field[1]), ("", ""))
    into.heading(title[1], level=1)
    lines = [f"{_TABLES['labels'].get(tag, tag)}: {value}" for tag, value in record if value and (tag, value) != title]
    into.prose("\n".join(line.removeprefix(": ") for line in lines))


READER = Reader(
    name="references",
    version=3,
    read=read_references,
    mime_types=("application/x-research-info-systems", "application/x-pubmed", _BIBTEX),
    library=LIBRARY,
)
