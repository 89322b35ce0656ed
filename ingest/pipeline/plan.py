"""Decides, before anything is read, which files an ingest has to read: the plan that ``--dry-run`` prints.

A file is taken as unchanged by its size and modification time, as git and rsync do: reading every byte of a large
collection again to learn that nothing happened is what makes second runs slow. Where that could be wrong, because the
file was written within two seconds of being read (file systems keep times as coarse as that), its content is compared.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Self

from pydantic import Field

from ingest.chunking.chunker import Chunker
from ingest.document import ParsedDocument
from ingest.errors import NothingToIngest
from ingest.ledger.records import DocumentState, Known, Stage, document_id
from ingest.parser import Parser
from ingest.pipeline.discovery import FoundFile, LeftOut, discover
from ingest.reader import OcrMode
from ingest.settings import IngestSettings
from vectorstore.models import FrozenModel

_RACY_SECONDS = 2.0
_SETTLED = (DocumentState.INDEXED, DocumentState.SKIPPED, DocumentState.REMOVED)


class Verdict(StrEnum):
    """What is to be done with a file, and why."""

    NEW = "new"
    CHANGED = "changed"
    SETTINGS = "indexed with other settings"
    UNFINISHED = "left unfinished by an earlier ingest"
    RETRY = "failed before"
    UNCHANGED = "unchanged"
    KNOWN_FAILURE = "unchanged since it failed"


@dataclass(frozen=True)
class IngestRequest:
    """What to ingest into a collection: paths, or documents that it already has, by their ids.

    Without either: every document that failed or was left unfinished.
    """

    collection: str
    paths: tuple[Path, ...] = ()
    documents: tuple[str, ...] = ()
    retry_failed: bool = False
    """Try files again that failed and have not changed since."""
    sync: bool = False
    """Remove documents whose files are missing from below the paths."""


@dataclass(frozen=True)
class IndexSettings:
    """The parser, its options and the chunking in force. Documents indexed with others are read again."""

    parser: Parser
    options: str
    chunking: str

    def parser_version(self, path: str, parsed: ParsedDocument | None = None) -> str:
        """Return what to store with a document about its parser, also for one that was not parsed."""
        return (parsed.parser if parsed else self.parser.version_of(PurePath(path))) + self.options

    def current_parser(self, known: Known) -> str:
        """Return what would be stored about the parser if the unchanged file were read again."""
        return self.parser.version_of(PurePath(known.path), known.mime_type) + self.options

    def has_current_parser(self, known: Known) -> bool:
        """Return whether parsing an unchanged file again would give the stored text."""
        if not known.parser.endswith(self.options):
            return False
        stored = known.parser.removesuffix(self.options)
        return self.parser.is_current(stored, PurePath(known.path), known.mime_type)

    def is_current(self, known: Known) -> bool:
        """Return whether parsing and chunking an unchanged file again would give what is indexed."""
        return known.chunking == self.chunking and self.has_current_parser(known)


class PlannedFile(FrozenModel):
    """A file and its verdict."""

    file: FoundFile
    verdict: Verdict
    size: int = 0

    @property
    def is_read(self) -> bool:
        """Whether it has to be opened."""
        return self.verdict not in (Verdict.UNCHANGED, Verdict.KNOWN_FAILURE)


class Plan(FrozenModel):
    """What an ingest of these paths will do."""

    collection: str
    files: tuple[PlannedFile, ...]
    left_out: tuple[LeftOut, ...] = ()
    gone: tuple[Known, ...] = Field(default=(), description="documents that are gone from disk, to be removed")
    notices: tuple[str, ...] = Field(default=(), description="what a person should know before it starts")

    def count(self, *verdicts: Verdict) -> int:
        """How many files have one of these verdicts."""
        return sum(planned.verdict in verdicts for planned in self.files)

    def with_notice(self, notice: str) -> Self:
        """Return the plan with one more notice, before the others."""
        return self.model_copy(update={"notices": (notice, *self.notices)})


def index_settings(parser: Parser, chunker: Chunker, settings: IngestSettings) -> IndexSettings:
    """Return the parser and the chunking in force."""
    ocr = "" if settings.ocr is OcrMode.AUTO else f", ocr {settings.ocr.value}"
    return IndexSettings(parser=parser, options=ocr, chunking=chunker.fingerprint)


def plan_ingest(
    request: IngestRequest,
    known: Mapping[str, Known],
    current: IndexSettings,
    *,
    own: Path | None = None,
    base: Path | None = None,
) -> Plan:
    """Walk the paths once and decide what to do with each file. ``known`` is the ledger's snapshot of the collection.

    See ``discover`` for ``own`` and ``base``. Raises PathNotFound, NothingToIngest.
    """
    found = list(_find(request, known, own, base))
    if not any(isinstance(entry, FoundFile) for entry in found):
        raise _nothing_to_ingest(request)
    roots = request.paths if request.sync else ()
    return make_plan(request.collection, found, known, current, retry_failed=request.retry_failed, sync=roots)


def require_files(
    request: IngestRequest, known: Mapping[str, Known], *, own: Path | None = None, base: Path | None = None
) -> None:
    """Raise PathNotFound or NothingToIngest if the request has no file. Stops at the first file."""
    if not any(isinstance(entry, FoundFile) for entry in _find(request, known, own, base)):
        raise _nothing_to_ingest(request)


def _find(
    request: IngestRequest, known: Mapping[str, Known], own: Path | None, base: Path | None
) -> Iterator[FoundFile | LeftOut]:
    if request.paths:
        return discover(request.paths, own, base)
    return _files_of(known, request.documents or [entry.id for entry in known.values() if entry.state not in _SETTLED])


def _nothing_to_ingest(request: IngestRequest) -> NothingToIngest:
    where = ", ".join(str(path) for path in request.paths)
    return NothingToIngest(f"There is no file to ingest in {where}." if where else "No file has failed.")


def _files_of(known: Mapping[str, Known], documents: Sequence[str]) -> Iterator[FoundFile]:
    """The files of these documents: for one that lies in another, that other."""
    paths = {known[document].container or known[document].path for document in documents if document in known}
    for entry in known.values():
        if entry.path in paths:
            yield FoundFile(path=Path(entry.path), document=entry.path, name=entry.name)


def make_plan(
    collection: str,
    found: Sequence[FoundFile | LeftOut],
    known: Mapping[str, Known],
    current: IndexSettings,
    *,
    retry_failed: bool = False,
    sync: Sequence[Path] = (),
) -> Plan:
    """Judge every file; with ``sync``, find what has gone from below these paths."""
    holders = {entry.container for entry in known.values() if entry.state is DocumentState.FAILED}
    outdated = {entry.container for entry in known.values() if _is_outdated_member(entry, current)}
    files = tuple(
        _judged(
            file,
            known.get(document_id(file.document)),
            current,
            retry_failed=retry_failed,
            holds_failed=file.document in holders,
            holds_outdated=file.document in outdated,
        )
        for file in found
        if isinstance(file, FoundFile)
    )
    return Plan(
        collection=collection,
        files=files,
        left_out=tuple(entry for entry in found if isinstance(entry, LeftOut)),
        gone=tuple(entry for entry in known.values() if _is_gone_below(entry, sync)),
        notices=tuple(_notices(files, known, current)),
    )


def is_gone(known: Known) -> bool:
    """Whether the file, or the one that it lies in, is there no more. One that cannot be looked at is not gone."""
    try:
        os.lstat(known.container or known.path)
    except (FileNotFoundError, NotADirectoryError):
        # A path with bytes that are no UTF-8 was written down with escapes: that the escaped one is not there says
        # nothing about the file.
        return "\\x" not in known.path
    except OSError:
        return False
    return False


def _is_outdated_member(known: Known, current: IndexSettings) -> bool:
    """Return whether a file in a container was read, and has to be read again."""
    was_read = known.parser and known.state in (DocumentState.INDEXED, DocumentState.FAILED)
    return bool(known.container and was_read and not current.is_current(known))


def _judged(
    file: FoundFile,
    known: Known | None,
    current: IndexSettings,
    *,
    retry_failed: bool,
    holds_failed: bool,
    holds_outdated: bool,
) -> PlannedFile:
    try:
        status = os.stat(file.path)
    except OSError:
        return PlannedFile(file=file, verdict=_judge(known, None, current, retry_failed=retry_failed))
    verdict = _judge(known, (status.st_size, status.st_mtime), current, retry_failed=retry_failed)
    if verdict is Verdict.UNCHANGED and retry_failed and holds_failed:
        verdict = Verdict.RETRY
    if verdict is Verdict.UNCHANGED and holds_outdated:
        verdict = Verdict.SETTINGS
    return PlannedFile(file=file, verdict=verdict, size=status.st_size)


def _judge(
    known: Known | None, seen: tuple[int, float] | None, current: IndexSettings, *, retry_failed: bool
) -> Verdict:
    if known is None or known.state in (DocumentState.REMOVED, DocumentState.SKIPPED):
        return Verdict.NEW
    is_same = seen == (known.size, known.modified) and known.read_at - known.modified > _RACY_SECONDS
    same_settings = current.is_current(known)
    if known.state is DocumentState.INDEXED:
        return (Verdict.UNCHANGED if is_same else Verdict.CHANGED) if same_settings else Verdict.SETTINGS
    if known.state is DocumentState.FAILED:
        # What the operating system refused may be allowed now; what a parser refused, it refuses again.
        final = is_same and same_settings and known.stage is not Stage.READING and not known.chunks
        return Verdict.KNOWN_FAILURE if final and not retry_failed else Verdict.RETRY
    return Verdict.NEW if known.state is DocumentState.DISCOVERED else Verdict.UNFINISHED


def _is_gone_below(known: Known, roots: Sequence[Path]) -> bool:
    if known.state is DocumentState.REMOVED:
        return False
    path = Path(known.path)
    return any(path.is_relative_to(os.path.abspath(root.expanduser())) for root in roots) and is_gone(known)


def _notices(files: Iterable[PlannedFile], known: Mapping[str, Known], current: IndexSettings) -> Iterator[str]:
    read_again = {document_id(each.file.document) for each in files if each.verdict is Verdict.SETTINGS}
    outdated = [entry for entry in known.values() if entry.parser and not current.is_current(entry)]
    here = [entry for entry in outdated if document_id(entry.container or entry.path) in read_again]
    parsers = {entry: current.current_parser(entry) for entry in here if not current.has_current_parser(entry)}
    if parsers:
        yield _change_notice("parser", parsers.values(), [entry.parser for entry in parsers])
    chunkings = [entry.chunking for entry in here if entry.chunking != current.chunking]
    if chunkings:
        yield _change_notice("chunking", [current.chunking], chunkings)
    elsewhere = sum(entry.chunks > 0 for entry in outdated) - sum(entry.chunks > 0 for entry in here)
    if elsewhere:
        yield (
            f"{elsewhere} documents of the collection that are not among these files stay as they were made, with "
            "other settings; ingest them, too, to make all alike."
        )


def _change_notice(what: str, now: Iterable[str], before: Sequence[str]) -> str:
    new, old = (" or ".join(map(repr, sorted(set(names)))) for names in (now, before))
    return f"The {what} is now {new}, not {old}: {len(before)} files are read again."
