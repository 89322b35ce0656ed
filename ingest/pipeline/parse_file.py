"""Hashes a file, parses it, and checks that it did not change in between."""

import hashlib
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager

from ingest.containers.entries import container_kind
from ingest.document import FACTS, BlockKind, ParsedDocument
from ingest.errors import FileChanging, FileError, FileTooLarge, IngestError, InternalError, UnreadableFile
from ingest.facts.facts import find_facts
from ingest.ledger.records import Stage
from ingest.parser import Parser
from ingest.pipeline.discovery import FoundFile
from ingest.pipeline.file import IngestFile
from vectorstore.errors import StoreError
from vectorstore.text.languages import LANGUAGE, detect, detect_surely

log = logging.getLogger(__name__)

ATTEMPTS = 3  # attempts to read a file that changes during the read
_LAST_LATIN = "\u024f"  # the last character of Latin Extended-B
_SHORT = 60  # characters of running text; four names of sheets were taken for French


def parse_file(file: IngestFile, parser: Parser, *, max_file_mb: int, known_version: str = "") -> None:
    """Read the file, and parse it unless its hash is ``known_version``. Raises FileError."""
    for _ in range(ATTEMPTS):
        before = _hash(file, max_file_mb)
        file.is_unchanged = file.version == known_version
        if file.is_unchanged or _parse_unchanged(file, parser, before):
            return
    raise changing(file.found)


@contextmanager
def wrap_internal_errors(file: IngestFile) -> Iterator[None]:
    """Convert an unexpected exception to an InternalError of this file, so that the ingest continues with other files.

    Does not convert IngestError and StoreError. Use it only around code that does not access the ledger or the store,
    because their errors must stop the ingest.
    """
    try:
        yield
    except (IngestError, StoreError):
        raise
    except Exception as error:
        log.exception("Internal error while %s %s", file.stage, file.found.document)
        raise InternalError(
            f"{file.found.document} caused an internal error while {file.stage}: {type(error).__name__}: {error}. The "
            "file may be correct. Please report it with the traceback in the log."
        ) from error


def _parse_unchanged(file: IngestFile, parser: Parser, before: tuple[int, ...]) -> bool:
    """Parse the file, and return whether it is unchanged since it was hashed. If it changed, ignore parser errors."""
    path = file.found.path
    try:
        with file.timed(Stage.PARSING):
            file.container = container_kind(path)
            if file.container is None or file.container.is_document:
                file.parsed = _with_facts(with_language(parser.parse(path)))
    except FileError:
        if identity_of(_status(file.found)) == before:
            raise
        return False
    is_same = identity_of(_status(file.found)) == before
    if not is_same:
        file.stage = Stage.READING
    return is_same


def with_language(parsed: ParsedDocument) -> ParsedDocument:
    """Return the document with its language. If detection fails, use the language in the file's metadata."""
    declared = str(parsed.metadata.get(LANGUAGE, ""))[:2].lower()
    text = _running_text(parsed)
    written = detect(text) if len(text) > _SHORT else detect_surely(text)
    beyond_latin = (each for each in parsed.text if each > _LAST_LATIN or each.isspace())  # more telling than others
    language = written or detect("".join(beyond_latin)) or declared
    others = {key: value for key, value in parsed.metadata.items() if key != LANGUAGE}
    return parsed.model_copy(update={"metadata": others | ({LANGUAGE: language} if language else {})})


def _with_facts(parsed: ParsedDocument) -> ParsedDocument:
    """Return the document with the facts that rules find. Facts from the parser take precedence."""
    found = find_facts(parsed) | parsed.facts
    return parsed.model_copy(update={"facts": {name: found[name] for name in FACTS if name in found}})


def _running_text(parsed: ParsedDocument) -> str:
    """Return the text without tables and code, because their names and identifiers mislead the language detection."""
    excluded = (BlockKind.TABLE, BlockKind.CODE)
    return "\n".join(parsed.text[block.start : block.end] for block in parsed.blocks if block.kind not in excluded)


def _hash(file: IngestFile, max_file_mb: int) -> tuple[int, ...]:
    """Hash the file and return its ``identity_of``. Raises UnreadableFile, FileTooLarge."""
    found = file.found
    with file.timed(Stage.READING):
        status = _status(found)
        file.bytes_read, file.modified, file.read_at = status.st_size, status.st_mtime, time.time()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(f"{found.document} cannot be read: it is a folder that cannot be opened.")
        require_size(found, status.st_size, max_file_mb)
        try:
            with found.path.open("rb") as content:
                file.version = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:
            raise unreadable(found, error) from error
    return identity_of(status)


def require_size(file: FoundFile, size: int, max_file_mb: int) -> None:
    """Raise FileTooLarge if the file has more bytes than the settings allow."""
    if size > max_file_mb * 2**20:
        raise FileTooLarge(
            f"{file.document} has {size / 2**20:,.0f} MB; the limit is {max_file_mb} MB. "
            "Split it, or raise max_file_mb."
        )


def _status(file: FoundFile) -> os.stat_result:
    try:
        return file.path.stat()
    except OSError as error:
        raise unreadable(file, error) from error


def identity_of(status: os.stat_result) -> tuple[int, ...]:
    """Return the fields of the file status that change when the file changes."""
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def changing(file: FoundFile) -> FileChanging:
    """Return the error for a file that changed during each attempt to read it."""
    return FileChanging(
        f"{file.document} changed while it was read, {ATTEMPTS} times. Ingest it again when no process writes to it."
    )


def unreadable(file: FoundFile, error: OSError) -> UnreadableFile:
    """Return the error for a file that the operating system cannot open."""
    return UnreadableFile(
        f"{file.document} cannot be read: {error.strerror}. Check its permissions, and its target if it is a link."
    )
