"""Reads lists of references in RIS and PubMed format (.ris, .nbib): a heading per record and a line per field.

kreuzberg reads only their titles.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.text import write_text
from vectorstore.models import Scalar

_FIELD = re.compile(r"(?=.{4}-)(?P<tag>[A-Z][A-Z0-9]{1,3}) {0,2}-(?: |$)(?P<value>.*)")
_FIRST = {"TY", "PMID"}
_TITLES = ("TI", "T1", "BTI", "CTI", "TT", "ST")
_LABELS = {
    "TY": "Type", "AU": "Author", "A1": "Author", "FAU": "Author", "A2": "Editor", "ED": "Editor", "FED": "Editor",
    "A3": "Series editor", "A4": "Translator", "CN": "Corporate author", "PY": "Year", "Y1": "Year", "DA": "Date",
    "DP": "Date", "Y2": "Access date", "AB": "Abstract", "N2": "Abstract", "OAB": "Abstract", "N1": "Note",
    "RN": "Note", "GN": "Note", "DO": "DOI", "LID": "Identifier", "AID": "Identifier", "JO": "Journal", "JF": "Journal",
    "JA": "Journal", "J1": "Journal", "J2": "Journal", "JT": "Journal", "TA": "Journal", "T2": "In", "BT": "In",
    "T3": "Series", "VL": "Volume", "VI": "Volume", "IS": "Number", "IP": "Number", "SP": "First page",
    "EP": "Last page", "PG": "Pages", "ET": "Edition", "PB": "Publisher", "CY": "Place", "PP": "Place", "PL": "Place",
    "SN": "ISSN or ISBN", "ISBN": "ISBN", "KW": "Keyword", "OT": "Keyword", "MH": "Subject", "LA": "Language",
    "UR": "Address", "L1": "File", "L2": "Address", "AD": "Affiliation", "PT": "Type", "TI": "Title", "T1": "Title",
    "TT": "Title", "ST": "Short title", "PMID": "PMID", "PMC": "PMC",
}  # fmt: skip
"""The labels of the tags of both formats. A tag without a label is shown as it is."""


def read_references(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the records to the builder. A file without one is read as text."""
    text = decode(request.data, request.path, into.warn)
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
    lines = [f"{_LABELS.get(tag, tag)}: {value}" for tag, value in record if value and (tag, value) != title]
    into.prose("\n".join(line.removeprefix(": ") for line in lines))


READER = Reader(
    name="references",
    version=1,
    read=read_references,
    mime_types=("application/x-research-info-systems", "application/x-pubmed"),
)
