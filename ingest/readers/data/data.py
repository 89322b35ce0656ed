"""Reads JSON, JSON lines, YAML and TOML as data. A file that is not valid is read as text, with a warning."""

from __future__ import annotations

from collections.abc import Callable
from fnmatch import fnmatchcase

from ingest.decoding import Warn, decode, without_escapes
from ingest.reader import Reader, ReadRequest
from ingest.readers.code import write_code
from ingest.readers.data.json_values import json_lines, json_value, json_values
from ingest.readers.data.toml_values import toml_values
from ingest.readers.data.value_writer import write_values
from ingest.readers.data.values import Value
from ingest.readers.data.yaml_values import yaml_values
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.models import Scalar


def _lines_or_value(text: str, warn: Warn) -> list[Value]:
    try:
        return [json_value(text)]
    except ValueError:
        return json_lines(text, warn)


_PARSERS: dict[str, Callable[[str, Warn], list[Value]]] = {
    "JSON": json_values,
    "JSON lines": _lines_or_value,
    "YAML": yaml_values,
    "TOML": toml_values,
}
_NAMES = {
    "application/json": "JSON",
    "*+json": "JSON",
    "application/x-ndjson": "JSON lines",
    "application/x-yaml": "YAML",
    "application/toml": "TOML",
}


def read_data(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the values of the file to the builder."""
    name = next(name for pattern, name in _NAMES.items() if fnmatchcase(request.mime_type, pattern))
    write_data(decode(request.data, request.path, into.warn), name, into)
    return {}


def write_data(text: str, name: str, into: DocumentBuilder) -> None:
    """Add the values of a text in this format to the builder. Invalid text, and single values, are added as text."""
    try:
        values = _PARSERS[name](text, into.warn)
        if all(isinstance(value, str | bool | None) for value in values):
            write_code(without_escapes(text), into)
        else:
            write_values(values, into)
    except (ValueError, RecursionError) as error:
        into.warn(f"The file is not valid {name}, or nested too deeply ({error}). It was read as text.")
        write_code(without_escapes(text), into)


READER = Reader(name="data", version=6, read=read_data, mime_types=tuple(_NAMES))
