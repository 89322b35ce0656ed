"""The files with the specification and the word analysis of an embedded collection, in the collection's folder."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import ValidationError

from vectorstore.edge.disk import disk_errors
from vectorstore.errors import StoreUnavailable
from vectorstore.models import CollectionSpec, UnreadableCollection

SPEC = "collection.json"
ANALYSIS_FILE = "analysis"


def collections_in(folder: Path) -> list[Path]:
    """Return the folders of the complete collections, by name."""
    with disk_errors(folder):
        if not folder.exists():
            return []
        return sorted(path for path in folder.iterdir() if (path / SPEC).exists())


def list_one(path: Path) -> CollectionSpec | UnreadableCollection:
    """Return the specification of a collection, or why it cannot be read."""
    try:
        return read_spec(path)
    except StoreUnavailable as error:
        return UnreadableCollection(name=path.name, reason=str(error))


def read_spec(path: Path) -> CollectionSpec:
    """Return the specification of a collection. Raises StoreUnavailable."""
    try:
        with disk_errors(path):
            return CollectionSpec.model_validate_json((path / SPEC).read_bytes())
    except ValidationError as error:
        raise StoreUnavailable(f"{str(path / SPEC)!r} is not a valid collection specification: {error}") from error


def write_spec(path: Path, spec: CollectionSpec) -> None:
    """Write the file atomically, also across a power cut."""
    _write(path / SPEC, spec.model_dump_json(indent=2))


def read_analysis(path: Path) -> str:
    """Return the version of the analysis of the indexed words; empty for collections of earlier versions."""
    with disk_errors(path):
        file = path / ANALYSIS_FILE
        return file.read_text(encoding="utf-8").strip() if file.exists() else ""


def write_analysis(path: Path, version: str) -> None:
    """Write the file atomically, also across a power cut."""
    _write(path / ANALYSIS_FILE, version)


def _write(target: Path, text: str) -> None:
    part = target.with_name(f"{target.name}.part")
    with part.open("w", encoding="utf-8") as file:
        file.write(text + "\n")
        file.flush()
        os.fsync(file.fileno())
    part.replace(target)
