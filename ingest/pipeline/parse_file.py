"""Reads one file: its content's hash, then what the parser makes of it, and that both saw the same content.

Runs in the threads that read ahead; touches neither ledger nor store.
"""

from __future__ import annotations

import hashlib
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from ingest.containers.entries import ContainerKind, container_kind
from ingest.document import BlockKind, ParsedDocument
from ingest.errors import FileChanging, FileError, FileTooLarge, IngestError, InternalError, UnreadableFile
from ingest.ledger.records import Stage
from ingest.parser import Parser
from ingest.pipeline.discovery import FoundFile
from vectorstore.errors import StoreError
from vectorstore.text.languages import LANGUAGE, detect

log = logging.getLogger(__name__)

_TRIES = 3  # for a file that changes while it is read
_LAST_LATIN = "\u024f"  # of the blocks up to Latin Extended-B


@dataclass
class Reading:
    """What came of reading a file: ``unchanged``, or ``parsed``, or a ``container`` (or both), or an ``error``."""

    version: str = ""
    size: int = 0
    modified: float = 0.0
    read_at: float = 0.0
    unchanged: bool = False
    parsed: ParsedDocument | None = None
    container: ContainerKind | None = None
    stage: Stage = Stage.READING
    error: FileError | None = None
    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def timed(self, stage: Stage) -> Iterator[None]:
        """Note the stage, and the time it takes."""
        self.stage = stage
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[stage] = self.seconds.get(stage, 0.0) + time.perf_counter() - started


def read(file: FoundFile, parser: Parser, *, max_file_mb: int, known_version: str = "") -> Reading:
    """Read and parse the file, unless its content is ``known_version``. What is wrong with it is in the reading."""
    reading = Reading()
    try:
        with defects_cost_one_file(file, reading):
            _read(file, reading, parser, max_file_mb, known_version)
    except FileError as error:
        reading.error = error
    return reading


@contextmanager
def defects_cost_one_file(file: FoundFile, reading: Reading) -> Iterator[None]:
    """The boundary of the work on one file: what nobody foresaw there becomes an InternalError of this file.

    Only for work that touches neither ledger nor store, so that their errors cannot be taken for the file's. Those
    that say whose fault they are pass as they are.
    """
    try:
        yield
    except (IngestError, StoreError):
        raise
    except Exception as error:
        log.exception("Internal error while %s %s", reading.stage, file.document)
        raise InternalError(
            f"{file.document} brought an internal error to light while {reading.stage}: "
            f"{type(error).__name__}: {error}. The file need not be at fault. Please report it with the traceback in "
            "the log; --retry-failed tries the file again."
        ) from error


def _read(file: FoundFile, reading: Reading, parser: Parser, max_file_mb: int, known_version: str) -> None:
    for _ in range(_TRIES):
        before = _look(file, reading, max_file_mb)
        reading.unchanged = reading.version == known_version
        if reading.unchanged or _parsed_unchanged(file, reading, parser, before):
            return
    raise FileChanging(
        f"{file.document} changed while it was read, {_TRIES} times. Ingest it again when nothing writes to it."
    )


def _parsed_unchanged(file: FoundFile, reading: Reading, parser: Parser, before: tuple[int, ...]) -> bool:
    """Parse; whether the file is still the one that was hashed. If not, errors of the parser mean nothing."""
    try:
        with reading.timed(Stage.PARSING):
            reading.container = container_kind(file.path)
            if reading.container is None or reading.container.is_document:
                reading.parsed = _with_language(parser.parse(file.path))
    except FileError:
        if _identity(_status(file)) == before:
            raise
        return False
    is_same = _identity(_status(file)) == before
    if not is_same:
        reading.stage = Stage.READING
    return is_same


def _with_language(parsed: ParsedDocument) -> ParsedDocument:
    """The language that the text is in; what the file says of itself counts where the text does not tell."""
    said = str(parsed.metadata.get(LANGUAGE, ""))[:2].lower()
    language = detect(_running_text(parsed)) or detect(_beyond_latin(parsed.text)) or said
    others = {key: value for key, value in parsed.metadata.items() if key != LANGUAGE}
    return parsed.model_copy(update={"metadata": others | ({LANGUAGE: language} if language else {})})


def _running_text(parsed: ParsedDocument) -> str:
    """The text without tables and code: names and codes in Latin letters would be taken for any language."""
    silent = (BlockKind.TABLE, BlockKind.CODE)
    return "\n".join(parsed.text[block.start : block.end] for block in parsed.blocks if block.kind not in silent)


def _beyond_latin(text: str) -> str:
    """The words in other scripts, which say more about the language than Latin ones."""
    return "".join(character for character in text if character > _LAST_LATIN or character.isspace())


def _look(file: FoundFile, reading: Reading, max_file_mb: int) -> tuple[int, ...]:
    """Hash the file; refuse what is too large or will not open. Gives what tells whether it changes afterwards."""
    with reading.timed(Stage.READING):
        status = _status(file)
        reading.size, reading.modified, reading.read_at = status.st_size, status.st_mtime, time.time()
        if not stat.S_ISREG(status.st_mode):
            raise UnreadableFile(f"{file.document} cannot be read: it is a folder that will not open.")
        if status.st_size > max_file_mb * 2**20:
            raise FileTooLarge(
                f"{file.document} has {status.st_size / 2**20:,.0f} MB; the limit is {max_file_mb} MB. "
                "Split it, or raise max_file_mb."
            )
        try:
            with file.path.open("rb") as content:
                reading.version = hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as error:
            raise _unreadable(file, error) from error
    return _identity(status)


def _status(file: FoundFile) -> os.stat_result:
    try:
        return file.path.stat()
    except OSError as error:
        raise _unreadable(file, error) from error


def _identity(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def _unreadable(file: FoundFile, error: OSError) -> UnreadableFile:
    return UnreadableFile(f"{file.document} cannot be read: {error.strerror}. Check its rights and where it links to.")
