"""Reads ``metadata.csv`` files: the first column names a file, the other columns are fields of its document."""

import csv
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple
from unicodedata import normalize

from base.counts import count
from ingest.errors import IngestError
from ingest.fields import read_fields
from ingest.pipeline.boundary import Boundary
from ingest.pipeline.discovery import FoundFile, printable
from ingest.readers.separated_values import read_rows
from vectorstore.models import FieldValue

DESCRIBES = "its rows describe other files"
"""Why such a file is no document."""
_NAME = "metadata.csv"
_MOST_MB = 64  # a larger file is data
_SHOWN = 10  # missing files that a notice names


class Columns(NamedTuple):
    """What the ``metadata.csv`` files among some files say."""

    fields: dict[str, dict[str, FieldValue]]
    """Fields by the path of the document that they describe."""
    notices: tuple[str, ...]
    files: frozenset[str]
    """The paths of the files that only describe others."""

    def about(self, path: str) -> dict[str, FieldValue]:
        """Return the fields of a document. A member of an archive also has those of the archive."""
        places = (*reversed(Path(path).parents), path) if self.fields else ()
        return {name: value for each in places for name, value in self.fields.get(str(each), {}).items()}


def read_columns(files: Sequence[FoundFile], known: Iterable[str], within: Boundary | None) -> Columns:
    """Read the files named ``metadata.csv``. They describe the other files, and documents with the ``known`` paths.

    A file in an inner folder takes precedence. One that names no document is data. Accents may be stored in any form.
    """
    fields: dict[str, dict[str, FieldValue]] = {}
    notices: list[str] = []
    read: set[str] = set()
    named = [file for file in files if file.path.name == _NAME]
    paths = {normalize("NFC", each): each for each in (*(file.document for file in files), *(known if named else ()))}
    for file in sorted(named, key=lambda each: len(each.path.parts)):
        described: set[str] = set()
        missing: list[str] = []
        about: list[str] = []
        head, *rows = _rows(file, within, about) or [[]]
        for name, *values in filter(any, rows):
            path = paths.get(normalize("NFC", printable(os.path.normpath(file.path.parent / name.strip()))))
            if path is None:
                missing.append(name)
                continue
            problems: list[str] = []
            fields.setdefault(path, {}).update(read_fields(zip(head[1:], values, strict=False), problems.append))
            about += [f"{name}: {problem}" for problem in problems]
            described.add(path)
        if described:
            read.add(file.document)
            about.append(f"It describes {count(len(described), 'document')}.")
        if missing:
            shown = ", ".join(missing[:_SHOWN]) + (", …" if len(missing) > _SHOWN else "")
            about.append(f"There is no file for {count(len(missing), 'row')}: {shown}.")
            about += [] if described else ["It is read as a document."]
        notices += [f"{file.name}: {each}" for each in about]
    return Columns(fields, tuple(notices), frozenset(read))


def _rows(file: FoundFile, within: Boundary | None, notices: list[str]) -> list[list[str]]:
    """Return the rows. Empty if the file cannot be read. The ingest of the file then says why."""
    try:
        with os.fdopen(within.open(file.path) if within else os.open(file.path, os.O_RDONLY), "rb") as content:
            data = content.read((_MOST_MB << 20) + 1)
        if len(data) > _MOST_MB << 20:
            notices.append(f"Its fields are not used (more than {_MOST_MB} MB). It is read as a document.")
            return []
        return read_rows(data, Path(file.document), notices.append)
    except csv.Error as error:
        notices.append(f"Its fields are not used ({error}). It is read as a document.")
        return []
    except (OSError, IngestError):
        return []
