"""Rejects formats that Candor cannot read, with the name of a program that converts them (``convertible.toml``)."""

from __future__ import annotations

import tomllib
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, NoReturn

from ingest.errors import UnsupportedFormat
from ingest.reader import Reader, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder


class _Format(NamedTuple):
    name: str
    mime_types: list[str]
    advice: str


FORMATS = [_Format(**each) for each in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))["format"]]


def reject(request: ReadRequest, _: DocumentBuilder) -> NoReturn:
    """Raise UnsupportedFormat with the program that converts the file."""
    found = next(one for one in FORMATS if any(fnmatchcase(request.mime_type, each) for each in one.mime_types))
    raise UnsupportedFormat(f"{request.path} is {found.name}, which Candor does not read. {found.advice}")


READER = Reader(
    name="convertible",
    version=1,
    read=reject,
    mime_types=tuple(mime_type for one in FORMATS for mime_type in one.mime_types),
)
