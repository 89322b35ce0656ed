"""All use of the library kreuzberg: format detection, and extraction for formats that have no reader of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ingest.errors import CorruptDocument, EncryptedDocument, ParseError, UnsupportedFormat

LIBRARY = "kreuzberg"

Node = Mapping[str, Any]
"""An element of a document. kreuzberg does not export the type."""


@dataclass(frozen=True, slots=True)
class Extraction:
    """A document as kreuzberg reads it: a flat list of nodes that point to their parents, and metadata."""

    nodes: Sequence[Node]
    metadata: Mapping[str, Any]


def mime_type_by_content(data: bytes) -> str | None:
    """Return the MIME type of the content, or None if it is unknown."""
    import kreuzberg

    try:
        found = kreuzberg.detect_mime_type(data[: 1 << 20] if not data.startswith(b"PK") else data)
    except RuntimeError:  # raised for unknown content
        return None
    return None if found == "text/plain" and b"\x00" in data else found


def mime_type_by_name(path: str) -> str | None:
    """Return the MIME type that the name suggests, or None. Raises UnicodeEncodeError for names with other bytes."""
    import kreuzberg

    try:
        return kreuzberg.detect_mime_type_from_path(path)
    except RuntimeError:  # raised for unknown suffixes
        return None


def extract(data: bytes, path: Path, mime_type: str) -> Extraction:
    """Return the document's nodes and metadata. Raises ParseError, also when the library's native code panics."""
    import kreuzberg
    from kreuzberg import exceptions

    config = kreuzberg.ExtractionConfig(
        use_cache=False,
        enable_quality_processing=False,
        include_document_structure=True,
        disable_ocr=True,  # type: ignore[call-arg]  # missing in its stubs only
        output_format="plain",
        tree_sitter=kreuzberg.TreeSitterConfig(enabled=False),
    )
    try:
        result = kreuzberg.extract_bytes_sync(data, mime_type, config=config)
    except exceptions.ValidationError as error:
        raise UnsupportedFormat(f"No parser reads {path}, a {mime_type}. Convert it to PDF or text first.") from error
    except (exceptions.KreuzbergError, RuntimeError, ValueError, OSError) as error:
        raise _extraction_error(path, mime_type, str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # a panic of native code is not an Exception
            raise
        raise CorruptDocument(f"{path} crashed the parser of {mime_type}: {error}. Save it again and retry.") from None
    return Extraction(result.document["nodes"] if result.document else [], result.metadata)


def _extraction_error(path: Path, mime_type: str, reason: str) -> ParseError:
    if "password" in reason.lower() or "encrypt" in reason.lower():
        return EncryptedDocument(f"{path} is encrypted. Save a copy without its password and ingest that.")
    return CorruptDocument(f"Cannot read {path} as {mime_type}: {reason.strip()} Export or download it again.")
