"""Reads calendars (.ics) and address cards (.vcf): a paragraph per entry, a line per field, and longer texts below it.

Both formats write a field per line, with parameters, and continue long lines on lines that begin with a blank
(RFC 5545 and 6350).
"""

from __future__ import annotations

import quopri
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ingest.decoding import decode, decode_declared
from ingest.reader import Reader, ReadRequest
from ingest.readers.markup.element_writer import plain_text
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar

_LABELS: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
_TEXTS = {"DESCRIPTION": "", "COMMENT": "Comment", "NOTE": "Note"}
_ENTRIES = {"VEVENT", "VTODO", "VJOURNAL", "VFREEBUSY", "VCARD"}
_FOLD = re.compile(r"\r?\n[ \t]")
_SOFT_BREAK = re.compile(r"=\r?\n")
_LINE = re.compile(r"(?:[\w-]+\.)?(?P<name>[\w-]+)(?P<parameters>(?:;[^:;\"]*(?:\"[^\"]*\"[^:;\"]*)*)*):(?P<value>.*)")
_PARAMETER = re.compile(r';([^;=]+)=?("[^"]*"|[^;"]*)')
_ESCAPE = re.compile(r"\\([nN,;:\\])")
_TIME = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?:T(\d\d):?(\d\d)(?::?\d\d)?(Z?))?")


class _Field(NamedTuple):
    name: str
    parameters: dict[str, str]
    value: str


def read_entries(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the entries of a calendar or of a file of address cards to the builder."""
    write_entries(decode(request.data, request.path, into.warn), into)
    return {}


def write_entries(source: str, into: DocumentBuilder) -> None:
    """Add a paragraph per entry to the builder, and one for each of its longer texts."""
    lines: list[str] = []
    texts: list[str] = []
    pages: list[str] = []  # HTML descriptions, which repeat the plain text
    inside: list[str] = []
    names: set[str] = set()
    has_full_names = "\nFN" in source
    for field in _fields(source):
        if field.name == "BEGIN":
            inside.append(field.value.strip().upper())
        elif field.name == "END":
            if inside and inside.pop() in _ENTRIES:
                for paragraph in ("\n".join(lines), *texts, *(() if "DESCRIPTION" in names else pages)):
                    into.prose(paragraph)
                lines, texts, pages, names = [], [], [], set()
        elif inside and inside[-1] in _ENTRIES and field.value.strip():
            names.add(field.name)
            if field.name == "X-ALT-DESC":
                pages.append(plain_text(_text(field, into)))
            elif field.name == "ATTACH" and field.parameters.get("ENCODING", "").upper() == "BASE64":
                into.warn("A file in an entry was not read.")
            elif field.name in _TEXTS:
                label = _TEXTS[field.name]
                texts.append(f"{label}: {_text(field, into)}" if label else _text(field, into))
            elif field.name in _LABELS and not (field.name == "N" and has_full_names):
                lines.append(f"{_label(field)}: {_text(field, into)}")


def _fields(source: str) -> Iterator[_Field]:
    if "QUOTED-PRINTABLE" in source.upper():
        source = _SOFT_BREAK.sub("", source)
    for line in _FOLD.sub("", source).splitlines():
        if found := _LINE.fullmatch(line):
            parameters = {name.upper(): value.strip('"') for name, value in _PARAMETER.findall(found["parameters"])}
            if "QUOTED-PRINTABLE" in parameters:  # version 2.1 of cards names the encoding alone
                parameters["ENCODING"] = "QUOTED-PRINTABLE"
            yield _Field(found["name"].upper(), parameters, found["value"])


def _label(field: _Field) -> str:
    kinds = [
        kind.lower() for kind in field.parameters.get("TYPE", "").split(",") if kind.lower() not in ("", "internet")
    ]
    return f"{_LABELS[field.name]} ({', '.join(kinds)})" if kinds else _LABELS[field.name]


def _text(field: _Field, into: DocumentBuilder) -> str:
    """Return the value as a person writes it: times in ISO form, people by name, no escapes."""
    value = field.value.strip()
    if field.parameters.get("ENCODING", "").upper() == "QUOTED-PRINTABLE":
        data, charset = quopri.decodestring(value.encode()), field.parameters.get("CHARSET", "utf-8")
        declared = decode_declared(data, charset, into.warn)
        if declared is None:
            into.warn(f"A field in the unknown encoding {charset!r} was read as UTF-8.")
        value = data.decode("utf-8", errors="replace") if declared is None else declared
    if field.name in ("RRULE", "FREEBUSY"):
        return _TIME.sub(lambda time: iso_time(time[0]), value)
    if field.name in ("DTSTART", "DTEND", "DUE", "EXDATE", "RECURRENCE-ID", "BDAY"):
        return ", ".join(iso_time(part, field.parameters.get("TZID", "")) for part in value.split(","))
    if field.name in ("ORGANIZER", "ATTENDEE"):
        address = re.sub("^mailto:", "", value, flags=re.IGNORECASE)
        name = field.parameters.get("CN", "")
        return f"{name} <{address}>" if name and name != address else address
    if field.name in ("ADR", "ORG", "N"):
        parts = [_unescaped(part).strip() for part in re.split(r"(?<!\\);", value)]
        return ", ".join(part for part in parts if part)
    return _unescaped(value)


def _unescaped(value: str) -> str:
    return _ESCAPE.sub(lambda escape: "\n" if escape[1] in "nN" else escape[1], value)


def iso_time(value: str, zone: str = "") -> str:
    """Return a time such as ``20240305T090000Z`` in ISO form, or the value if it is none."""
    found = _TIME.match(value.strip())
    if found is None:
        return value
    day = f"{found[1]}-{found[2]}-{found[3]}"
    return f"{day} {found[4]}:{found[5]} {'UTC' if found[6] else zone}".rstrip() if found[4] else day


READER = Reader(
    name="calendar", version=4, read=read_entries, mime_types=("text/calendar", "text/vcard", "text/x-vcard")
)
