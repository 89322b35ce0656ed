"""The default parser: detects a file's format and hands the file to the reader of that format."""

from __future__ import annotations

from pathlib import Path, PurePath

from ingest.decoding import decode
from ingest.document import ParsedDocument
from ingest.errors import CorruptDocument, EmptyDocument, UnreadableFile
from ingest.reader import ParserOptions, ReaderRegistry, ReadRequest
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.shared.file_type import detect_mime_type, is_plain_text, mime_type_of_name
from ingest.readers.text import write_text


class DocumentParser:
    """Reads every format that a module in ``ingest/readers`` reads."""

    name = "default"

    def __init__(self, options: ParserOptions) -> None:
        self._options = options
        self._readers = ReaderRegistry()

    def parse(self, path: Path) -> ParsedDocument:
        """Parse the file by its content, or by its name where the content leaves the format open."""
        data = _read_bytes(path)
        mime_type, warnings = detect_mime_type(path, data)
        reader = self._readers.find(mime_type, path)
        builder = DocumentBuilder()
        try:
            metadata = reader.read(ReadRequest(data, path, mime_type, self._options), builder)
            if builder.is_empty and is_plain_text(mime_type):
                builder.warn("Its reader finds no text in the file. Its source was read as text.")
                write_text(decode(data, path, builder.warn), builder)
        except RecursionError as error:
            raise CorruptDocument(f"{path} is nested too deeply to be read. Export or download it again.") from error
        document = builder.build(
            parser=reader.fingerprint,
            mime_type=mime_type,
            title=str(metadata.pop("title", "")),
            metadata=metadata,
            warnings=warnings,
        )
        if not document.text:
            raise EmptyDocument(
                f"{path} contains no text. If its program shows text, export it as PDF and ingest that."
            )
        return document

    def version_of(self, path: PurePath, mime_type: str = "") -> str:
        """Return the name and version of the reader of such a file."""
        return self._readers.find(mime_type or mime_type_of_name(path) or "text/plain", path).fingerprint


def _read_bytes(path: Path) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UnreadableFile(f"Cannot read {path}: {error.strerror}. Check its permissions and its disk.") from error
    if not data.strip():
        raise EmptyDocument(f"{path} is empty. Nothing to ingest.")
    return data
