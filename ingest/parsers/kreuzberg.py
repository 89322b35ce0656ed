"""The default parser: each format by the reader that recovers most of it (benchmarks/formats.py).

Owns that choice and all use of kreuzberg, which reads mail, books, old Office files and what else no module beside
this package reads. Each of those modules says why it does. Nothing here uses the network or writes a cache.
"""

from __future__ import annotations

import mimetypes
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ingest.errors import (
    CorruptDocument,
    EmptyDocument,
    EncryptedDocument,
    ParseError,
    UnreadableFile,
    UnsupportedFormat,
)
from ingest.parser import ParsedDocument, ParserOptions
from ingest.readers.markup.asciidoc import read_asciidoc
from ingest.readers.markup.html_xml import read_html, read_xml
from ingest.readers.markup.markdown import read_markdown
from ingest.readers.odf import read_opendocument
from ingest.readers.pdf.ocr import ScanReader
from ingest.readers.pdf.pdf import read_image, read_pdf
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.sheets import read_workbook
from ingest.readers.slides import read_presentation
from ingest.readers.text import decode, read_code, read_separated, read_text
from ingest.readers.word import read_word
from ingest.readers.word97 import read_flat_word
from vectorstore.models import Scalar

if TYPE_CHECKING:
    from kreuzberg import ExtractionResult

_Node = Mapping[str, Any]  # kreuzberg's typed dictionaries are not part of what it exports

READERS = 4
"""Raised when the readers of this package write other text than before, so that files are read again."""

PDF = "application/pdf"
MARKDOWN = {"text/markdown", "text/mdx", "text/x-djot"}
SEPARATED = {"text/csv", "text/tab-separated-values"}
CODE = {"text/x-source-code", "application/json", "application/x-ndjson", "application/x-yaml", "application/toml"}
ASCIIDOC = {".adoc", ".asciidoc"}
"""How names of AsciiDoc end; by its type it is source code."""
PLAIN = {"text/plain", "text/vtt", "application/x-subrip"}
Reader = Callable[[bytes, Path, DocumentBuilder], dict[str, Scalar]]
READ_HERE: dict[str, Reader] = {
    "wordprocessingml": read_word,
    "ms-word": read_word,
    "presentationml": read_presentation,
    "ms-powerpoint.": read_presentation,
    "spreadsheetml": read_workbook,
    "ms-excel": read_workbook,
    "opendocument.spreadsheet": read_workbook,
    "opendocument.text": read_opendocument,
    "opendocument.presentation": read_opendocument,
    "text/html": read_html,
    "application/xhtml+xml": read_html,
    "application/xml": read_xml,
    "text/xml": read_xml,
}
"""The readers of this package, by the types, or the vendor's parts of them, that they read better than kreuzberg
(benchmarks/formats.py)."""

WRITTEN_AS_TEXT = {
    "message/rfc822",
    "application/rtf",
    "application/xml",
    "application/xml+opml",
    "application/x-latex",
    "application/x-typst",
    "application/x-subrip",
    "application/x-bibtex",
    "application/x-research-info-systems",
    "application/x-pubmed",
}
CONTAINERS = {"application/zip", "application/gzip", "application/octet-stream"}
"""What a look at the content cannot tell apart: the name says more."""


class DocumentParser:
    """Reads every format that kreuzberg reads, and any text."""

    name = "kreuzberg"

    def __init__(self, options: ParserOptions) -> None:
        self._options = options
        self.version = f"kreuzberg {version('kreuzberg')}/{READERS}"

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file by what it contains, or by its name where the content leaves it open."""
        data = _read(path)
        mime_type, warnings = _mime_type(path, data)
        builder = DocumentBuilder()
        scans = ScanReader(self._options, path)
        try:
            metadata = _read_into(builder, path, data, mime_type, scans)
        except RecursionError as error:
            raise CorruptDocument(f"{path} is nested too deeply to be read. Export or download it again.") from error
        if scans.how:
            metadata["recognised"] = scans.how
        document = builder.build(
            parser=self.version,
            mime_type=mime_type,
            title=str(metadata.pop("title", "")),
            metadata=metadata,
            warnings=(*warnings, *scans.warnings),
        )
        if not document.text:
            raise _no_text(path, mime_type, scans)
        return document


def _read(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"{path} cannot be read ({error.strerror}). Check its rights and its disk.") from error
    if not data.strip():
        raise EmptyDocument(f"{path} is empty. Nothing to ingest.")
    return data


def _no_text(path: Path, mime_type: str, scans: ScanReader) -> EmptyDocument:
    if mime_type == PDF or _is_image(mime_type):
        return EmptyDocument(f"{path} holds no text. {scans.nothing_read}")
    return EmptyDocument(f"{path} holds no text.")


# Which format


def _mime_type(path: Path, data: bytes) -> tuple[str, tuple[str, ...]]:
    """What the file is, and a warning if its name says something else."""
    content, name = _mime_of_content(data), _mime_of_name(path)
    if content is None or content in CONTAINERS:
        return name or content or "text/plain", ()
    if name is None:
        return content, ()
    if _is_text(content) == _is_text(name) and (_is_text(content) or _family(content) == _family(name)):
        return name, ()
    return content, (f"The name says {name}, the content is {content}: read as {content}.",)


def _mime_of_content(data: bytes) -> str | None:
    import kreuzberg

    try:
        found = kreuzberg.detect_mime_type(data[: 1 << 20] if not data.startswith(b"PK") else data)
    except RuntimeError:  # its way to say that it does not know
        return None
    return None if found == "text/plain" and b"\x00" in data else found


def _mime_of_name(path: Path) -> str | None:
    import kreuzberg

    try:
        return kreuzberg.detect_mime_type_from_path(path)
    except RuntimeError:
        return None
    except UnicodeEncodeError:  # it takes no names that are not Unicode
        return mimetypes.guess_type(f"file{path.suffix}")[0]


def _is_text(mime_type: str) -> bool:
    return mime_type.startswith("text/") or mime_type.endswith(("+xml", "+json")) or mime_type in CODE | WRITTEN_AS_TEXT


def _is_of(mime_type: str, part: str) -> bool:
    return mime_type == part if "/" in part else part in mime_type


def _is_image(mime_type: str) -> bool:
    return mime_type.startswith("image/") and not _is_text(mime_type)


def _family(mime_type: str) -> str:
    """The vendor's part of the type: variants such as .docx and .dotx, which the content shows alike, share it."""
    for family in ("wordprocessingml", "spreadsheetml", "presentationml", "opendocument", "ms-excel", "ms-word"):
        if family in mime_type:
            return family
    return mime_type


# Reading


def _read_into(
    builder: DocumentBuilder, path: Path, data: bytes, mime_type: str, scans: ScanReader
) -> dict[str, Scalar]:
    """Add the file's blocks to the builder; return its metadata with its title."""
    if mime_type == PDF:
        return read_pdf(data, path, builder, scans)
    if _is_image(mime_type):
        read_image(data, builder, scans)
        return {}
    reader = next((reader for part, reader in READ_HERE.items() if _is_of(mime_type, part)), None)
    if reader is not None:
        return reader(data, path, builder)
    if mime_type in MARKDOWN:
        return {"title": read_markdown(decode(data, path), builder)}
    if mime_type in SEPARATED:
        read_separated(decode(data, path), builder)
        return {}
    if mime_type in CODE and path.suffix.lower() in ASCIIDOC:
        return read_asciidoc(decode(data, path), builder)
    if mime_type in CODE:
        read_code(decode(data, path), builder)
        return {}
    if mime_type in PLAIN:
        read_text(decode(data, path), builder)
        return {}
    result = _extract(path, data, mime_type)
    _Nodes(result, builder).write()
    return _metadata(result.metadata)


def _extract(path: Path, data: bytes, mime_type: str) -> ExtractionResult:
    """kreuzberg's reading of the file; its errors, and the panics of its native code, as ours."""
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
        return kreuzberg.extract_bytes_sync(data, mime_type, config=config)
    except exceptions.ValidationError as error:
        raise UnsupportedFormat(
            f"{path} is {mime_type}, which no parser reads. Convert it to PDF or text first."
        ) from error
    except (exceptions.KreuzbergError, RuntimeError, ValueError, OSError) as error:
        raise _extraction_error(path, mime_type, str(error)) from error
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # how a crash of native code arrives: no Exception
            raise
        raise CorruptDocument(f"{path} made the parser of {mime_type} fail: {error}. Save it anew and retry.") from None


def _extraction_error(path: Path, mime_type: str, reason: str) -> ParseError:
    if "password" in reason.lower() or "encrypt" in reason.lower():
        return EncryptedDocument(f"{path} is encrypted. Save a copy without its password and ingest that.")
    return CorruptDocument(f"{path} cannot be read as {mime_type}: {reason.strip()} Export or download it again.")


def _metadata(found: Mapping[str, Any]) -> dict[str, Scalar]:
    """The plain values of kreuzberg's metadata that say what a document is."""
    wanted = ("title", "subject", "authors", "created_at", "modified_at", "language", "from_email", "to_emails")
    values: dict[str, Scalar] = {}
    for key in wanted:
        value = found.get(key)
        if isinstance(value, list):
            value = ", ".join(str(part) for part in value)
        if isinstance(value, str | int | float | bool) and value != "":
            values[key] = value
    return values


class _Nodes:
    """Writes kreuzberg's document structure, a flat list of nodes that point to their parents, into a builder."""

    def __init__(self, result: ExtractionResult, builder: DocumentBuilder) -> None:
        self._nodes: Sequence[_Node] = result.document["nodes"] if result.document else []
        self._is_flat = result.mime_type == "application/msword"
        self._builder = builder

    def write(self) -> None:
        """Top-level nodes in order; lists gather their items."""
        for index, node in enumerate(self._nodes):
            if node.get("content_layer") in ("header", "footer"):
                continue
            self._write(index, node)

    def _write(self, index: int, node: _Node) -> None:
        content = node["content"]
        match content["node_type"]:
            case "title" | "heading":
                self._builder.heading(content["text"], content.get("level", 1))
            case "list" if not self._inside_list(node):
                self._builder.list_items(self._list_lines(index, depth=0))
            case "list_item" if node.get("parent") is None:
                self._builder.list_items([f"- {content['text']}"])
            case "table":
                self._builder.table(self._rows(content["grid"]))
            case "code":
                self._builder.code(content["text"])
            case "metadata_block":
                self._builder.prose("\n".join(f"{key}: {value}" for key, value in content["entries"]))
            case "image":
                self._builder.prose(content.get("description") or "")
            case "slide":  # its title is its first text; that of old files stands for many slides, so it is no page
                self._builder.prose(content.get("title") or "")
            case "paragraph" if self._is_flat:
                read_flat_word(content["text"], self._builder)
            case "paragraph" | "formula" | "footnote" | "definition_item" | "citation":
                self._builder.prose(content.get("text", ""))
            case _:
                pass

    def _inside_list(self, node: _Node) -> bool:
        parent = node.get("parent")
        return parent is not None and self._nodes[parent]["content"]["node_type"] in ("list", "list_item")

    def _list_lines(self, index: int, depth: int) -> list[str]:
        ordered = self._nodes[index]["content"].get("ordered", False)
        lines: list[str] = []
        number = 0
        for child in self._nodes[index].get("children", []):
            content = self._nodes[child]["content"]
            if content["node_type"] == "list":
                lines += self._list_lines(child, depth + 1)
            else:
                number += 1
                mark = f"{number}. " if ordered else "- "
                lines.append("  " * depth + mark + " ".join(content.get("text", "").split()))
        return lines

    def _rows(self, grid: Mapping[str, Any]) -> list[list[str]]:
        rows = [[""] * grid["cols"] for _ in range(grid["rows"])]
        for cell in grid["cells"]:
            rows[cell["row"]][cell["col"]] = cell["content"]
        return rows
