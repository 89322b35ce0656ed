"""Plans which files an ingest reads without opening them. ``--dry-run`` prints the plan.

A file counts as unchanged if its size and modification time are unchanged, as in git and rsync, because hashing every
file would slow down a repeated ingest. A file that was read less than two seconds after its last modification is
hashed, because some file systems store times with a resolution of two seconds.
"""

import os
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Self

from pydantic import Field

from base.counts import count
from base.models import FrozenModel
from ingest.chunking.chunker import Chunker
from ingest.document import ParsedDocument
from ingest.errors import NothingToIngest
from ingest.fields import given_fields, tag_names
from ingest.ledger.records import DocumentState, DocumentSummary, Stage
from ingest.parser import Parser
from ingest.pipeline.boundary import Boundary
from ingest.pipeline.columns import DESCRIBES, read_columns
from ingest.pipeline.discovery import FoundFile, SkippedFile, discover
from ingest.pipeline.moves import Identities, find_moves, is_missing, left_behind, relocated
from ingest.reader import OcrMode
from ingest.settings import IngestSettings
from vectorstore.models import FieldValue

_RACY_SECONDS = 2.0  # resolution of modification times on some file systems
_MAY_PASS = (Stage.READING, Stage.ASKING)  # the content does not cause failures here, so a retry may succeed
_SETTLED = (DocumentState.INDEXED, DocumentState.SKIPPED, DocumentState.REMOVED)
_SHOWN = 3  # skipped files that the error message lists


class Verdict(StrEnum):
    """The decision about a file, with its reason."""

    NEW = "new"
    CHANGED = "changed"
    MOVED = "moved with its folder"
    SETTINGS = "indexed with other settings"
    UNFINISHED = "left unfinished by an earlier ingest"
    RETRY = "failed before"
    UNCHANGED = "unchanged"
    KNOWN_FAILURE = "unchanged since it failed"


class IngestOptions(FrozenModel):
    """What an ingest reads besides paths, and how."""

    urls: tuple[str, ...] = Field(
        default=(), max_length=1000, description="Web addresses to fetch. Changed pages replace their documents."
    )
    retry_failed: bool = Field(
        default=False,
        description="Retry failed files even if they have not changed. Without paths: all failed and unfinished files "
        "of the collection, and documents that the vector store has lost.",
    )
    sync: bool = Field(
        default=False,
        description="Remove documents below the paths whose files no longer exist, or are left out by a rule.",
    )
    tags: tuple[str, ...] = Field(
        default=(), max_length=100, description="Tags to add to all documents of the ingest, including unchanged ones."
    )
    meta: dict[str, FieldValue] = Field(
        default_factory=dict,
        max_length=100,
        description="Metadata to set for all documents of the ingest, including unchanged ones. An empty text removes "
        "a field.",
        examples=[{"project": "Orion", "keywords": ["engine", "launch"]}],
    )
    exclude: tuple[str, ...] = Field(
        default=(), max_length=100, description="What to leave out of folders, in the syntax of .gitignore."
    )
    include: tuple[str, ...] = Field(
        default=(), max_length=100, description="What to read although a rule leaves it out, in the same syntax."
    )
    follow_links: bool = Field(default=False, description="Follow links that lead out of their folder.")


class IngestRequest(IngestOptions):
    """The files to ingest into a collection, given as paths or as ids of documents in the collection.

    A request without paths and documents selects every document that failed or was left unfinished. A job stores its
    request, with which it can run later or again after a crash. The caller adds the paths of ``urls`` and ``source``.
    """

    collection: str
    paths: tuple[Path, ...] = ()
    documents: tuple[str, ...] = ()
    source: str = ""
    """The name of a source of the collection to sync."""
    repair: bool = False
    """Whether to read no files, and only embed documents whose passages are missing from the vector store."""


@dataclass(frozen=True)
class IndexSettings:
    """The configured parser, its options and the chunking. Documents indexed with other settings are read again."""

    parser: Parser
    options: str
    chunking: str

    def parser_version(self, path: str, parsed: ParsedDocument | None = None) -> str:
        """Return the parser version to store with a document, even if the document was not parsed."""
        return (parsed.parser if parsed else self.parser.version_of(PurePath(path))) + self.options

    def current_parser(self, known: DocumentSummary) -> str:
        """Return the parser version that would be stored if the unchanged file were read again."""
        return self.parser.version_of(PurePath(known.path), known.mime_type) + self.options

    def has_current_parser(self, known: DocumentSummary) -> bool:
        """Return whether parsing the unchanged file again would produce the stored text."""
        return known.parser == self.current_parser(known)

    def is_current(self, known: DocumentSummary) -> bool:
        """Return whether parsing and chunking the unchanged file again would produce the indexed chunks."""
        return known.chunking == self.chunking and self.has_current_parser(known)


class PlannedFile(FrozenModel):
    """A file and its verdict."""

    file: FoundFile
    verdict: Verdict
    size: int = 0

    @property
    def is_read(self) -> bool:
        """Whether the file has to be opened."""
        return self.verdict not in (Verdict.UNCHANGED, Verdict.KNOWN_FAILURE)


class Plan(FrozenModel):
    """The plan of an ingest: the verdict on each file, and the documents to remove."""

    collection: str
    files: tuple[PlannedFile, ...]
    left_out: tuple[SkippedFile, ...] = ()
    gone: tuple[DocumentSummary, ...] = Field(
        default=(), description="documents to remove, because their files are missing"
    )
    relocated: tuple[DocumentSummary, ...] = Field(
        default=(), description="documents whose files were moved, with their new paths"
    )
    left_behind: tuple[DocumentSummary, ...] = Field(
        default=(), description="files of moved folders that were never read and are forgotten"
    )
    notices: tuple[str, ...] = Field(default=(), description="messages to show before it starts")
    tags: tuple[str, ...] = Field(default=(), description="added to every document, including unchanged ones")
    meta: dict[str, FieldValue] = Field(default_factory=dict, description="set for every document; empty to remove")
    fields: dict[str, dict[str, FieldValue]] = Field(
        default_factory=dict, description="what a metadata.csv says of documents, by id", exclude=True
    )

    def count(self, *verdicts: Verdict) -> int:
        """Count the files with one of these verdicts."""
        return sum(planned.verdict in verdicts for planned in self.files)

    def with_notice(self, notice: str) -> Self:
        """Return the plan with another notice, placed before the existing ones."""
        return self.model_copy(update={"notices": (notice, *self.notices)})


def index_settings(parser: Parser, chunker: Chunker, settings: IngestSettings) -> IndexSettings:
    """Return the configured parser and chunking."""
    ocr = "" if settings.ocr is OcrMode.AUTO else f", ocr {settings.ocr.value}"
    return IndexSettings(parser=parser, options=ocr, chunking=chunker.fingerprint)


def plan_ingest(
    request: IngestRequest,
    known: Mapping[str, DocumentSummary],
    current: IndexSettings,
    *,
    own: Path | None = None,
    base: Path | None = None,
    within: Boundary | None = None,
) -> Plan:
    """Walk the paths once and return the plan. ``known`` is the ledger's snapshot of the collection.

    See ``discover`` for ``own``, ``base`` and ``within``. Raises PathNotFound, NothingToIngest, InvalidTag,
    InvalidField.
    """
    found = list(_find(request, known, own, base, within))
    ids = Identities(known)
    files = [each.model_copy(update={"id": ids.of(each.document)}) for each in found if isinstance(each, FoundFile)]
    live = {each.path: each.id for each in known.values() if each.state is not DocumentState.REMOVED}
    columns = read_columns(files, live, within)
    skipped = [entry for entry in found if isinstance(entry, SkippedFile)]
    skipped += [
        SkippedFile(path=file.document, name=file.name, reason=DESCRIBES)
        for file in files
        if file.document in columns.files
    ]
    files = [file for file in files if file.document not in columns.files]
    if not (files or columns.files):
        raise _nothing_to_ingest(request, skipped, known)
    reread = dict(_reread_containers(known.values(), current, request.retry_failed))
    planned = [_plan_file(file, known, current, reread, request.retry_failed) for file in files]
    moves = find_moves([each.file for each in planned if each.verdict is Verdict.NEW], known, within)
    planned = [_with_move(each, moves) for each in planned]
    roots = request.paths if request.sync else ()
    left_out = {Path(entry.path) for entry in skipped}
    left = tuple(left_behind(moves, known))
    settled = {each.id for each in (*moves.values(), *left)}
    walked = [root for root in map(_absolute, request.paths) if root.is_dir()]
    fields = {
        identity: stated
        for path, identity in (live | {each.file.document: each.file.id for each in planned}).items()
        if (stated := columns.about(path)) or any(map(Path(path).is_relative_to, walked))
    }
    gone = (each for each in known.values() if each.id not in settled and _is_gone_below(each, roots, left_out))
    moved = tuple(relocated(moves, files, known))
    settled_now = settled | {each.id for each in moved}
    unfound = (each for each in known.values() if each.chunks and each.id not in settled_now)
    lost = _lost_notice(unfound, {file.document for file in files}, set(walked))
    return Plan(
        collection=request.collection,
        files=tuple(planned),
        left_out=tuple(skipped),
        gone=tuple(gone),
        relocated=moved,
        left_behind=left,
        notices=(*_notices(planned, known, current), *columns.notices, *(() if request.sync else lost)),
        tags=tag_names(request.tags),
        meta=given_fields(request.meta.items()),
        fields=fields,
    )


def require_files(
    request: IngestRequest,
    known: Mapping[str, DocumentSummary],
    *,
    own: Path | None = None,
    base: Path | None = None,
    within: Boundary | None = None,
) -> None:
    """Raise PathNotFound or NothingToIngest if the request has no file. Stops at the first file."""
    skipped = []
    for entry in _find(request, known, own, base, within):
        if isinstance(entry, FoundFile):
            return
        skipped.append(entry)
    raise _nothing_to_ingest(request, skipped, known)


def _find(
    request: IngestRequest,
    known: Mapping[str, DocumentSummary],
    own: Path | None,
    base: Path | None,
    within: Boundary | None,
) -> Iterator[FoundFile | SkippedFile]:
    if request.paths:
        return discover(
            request.paths, own, base, within,
            exclude=request.exclude, include=request.include, follow_links=request.follow_links,
        )  # fmt: skip
    if request.repair:
        return iter(())
    return _files_of(known, request.documents or [entry.id for entry in known.values() if entry.state not in _SETTLED])


def _nothing_to_ingest(
    request: IngestRequest, skipped: Sequence[SkippedFile], known: Mapping[str, DocumentSummary]
) -> NothingToIngest:
    if not request.paths:
        return NothingToIngest("No file has failed.")
    where = ", ".join(str(path) for path in request.paths)
    shown = "; ".join(f"{entry.name!r}: {entry.reason}" for entry in skipped[:_SHOWN])
    more = f" and {len(skipped) - _SHOWN} more" if len(skipped) > _SHOWN else ""
    problem = f"There is no file to ingest in {where}."
    if skipped:
        problem += f" Skipped {shown}{more}."
    roots = list(map(_absolute, request.paths))
    within = sum(each.chunks > 0 and any(Path(each.path).is_relative_to(at) for at in roots) for each in known.values())
    if not within:
        return NothingToIngest(problem)
    reason = "no file was left to read" if skipped else "an empty folder may be a missing disk"
    problem += f" {count(within, 'document')} from there can still be searched: nothing is removed, because {reason}."
    return NothingToIngest(problem).with_command("`candor documents rm` removes documents.")


def _files_of(known: Mapping[str, DocumentSummary], documents: Sequence[str]) -> Iterator[FoundFile]:
    """Yield the files of these documents. For a document in a container, yield the container."""
    paths = {known[document].container or known[document].path for document in documents if document in known}
    for entry in known.values():
        if entry.path in paths:
            yield FoundFile(path=Path(entry.path), document=entry.path, name=entry.name)


def _reread_containers(
    known: Iterable[DocumentSummary], current: IndexSettings, retry_failed: bool
) -> Iterator[tuple[str, Verdict]]:
    """Yield the containers with members to read again. The last verdict on a container counts."""
    members = [entry for entry in known if entry.container]
    for member in members:
        was_read = member.parser and member.state in (DocumentState.INDEXED, DocumentState.FAILED)
        if (was_read or _is_read_image(member)) and not current.is_current(member):
            yield member.container, Verdict.SETTINGS
    for member in members:
        has_failed = member.state is DocumentState.FAILED or _is_read_image(member)
        if has_failed and (retry_failed or member.stage is Stage.ASKING):
            yield member.container, Verdict.RETRY


def _is_read_image(known: DocumentSummary) -> bool:
    """Return whether the file is an image in a container that was skipped because it has no text."""
    return bool(known.container and known.parser and known.state is DocumentState.SKIPPED)


def _plan_file(
    file: FoundFile,
    known: Mapping[str, DocumentSummary],
    current: IndexSettings,
    reread: Mapping[str, Verdict],
    retry_failed: bool,
) -> PlannedFile:
    try:
        status = os.stat(file.path)
        seen = status.st_size, status.st_mtime
    except OSError:  # opening the file reports the error
        seen = None
    verdict = _decide(known.get(file.id), seen, current, retry_failed=retry_failed)
    if verdict is Verdict.UNCHANGED:
        verdict = reread.get(file.document, verdict)
    return PlannedFile(file=file, verdict=verdict, size=seen[0] if seen else 0)


def _with_move(planned: PlannedFile, moves: Mapping[str, DocumentSummary]) -> PlannedFile:
    if not (old := moves.get(planned.file.document)):
        return planned
    file = planned.file.model_copy(update={"id": old.id})
    return planned.model_copy(update={"file": file, "verdict": Verdict.MOVED})


def _decide(
    known: DocumentSummary | None, seen: tuple[int, float] | None, current: IndexSettings, *, retry_failed: bool
) -> Verdict:
    if known is None or known.state in (DocumentState.REMOVED, DocumentState.SKIPPED):
        return Verdict.NEW
    is_same = seen == (known.size, known.modified) and known.read_at - known.modified > _RACY_SECONDS
    same_settings = current.is_current(known)
    if known.state is DocumentState.INDEXED:
        return (Verdict.UNCHANGED if is_same else Verdict.CHANGED) if same_settings else Verdict.SETTINGS
    if known.state is DocumentState.FAILED:
        # Parsing the same content would fail again.
        final = is_same and same_settings and known.stage not in _MAY_PASS and not known.chunks
        return Verdict.KNOWN_FAILURE if final and not retry_failed else Verdict.RETRY
    is_new = known.state is DocumentState.DISCOVERED and not known.chunks
    return Verdict.NEW if is_new else Verdict.UNFINISHED


def _is_gone_below(known: DocumentSummary, roots: Sequence[Path], left_out: Container[Path]) -> bool:
    """Return whether the file of a document below the roots is missing, or left out with its folder or alone."""
    is_below = any(map(Path(known.path).is_relative_to, map(_absolute, roots)))
    if known.state is DocumentState.REMOVED or not is_below:
        return False
    path = Path(known.container or known.path)
    is_new = known.state is not DocumentState.SKIPPED and any(each in left_out for each in (path, *path.parents))
    return is_new or is_missing(known)


def _lost_notice(documents: Iterable[DocumentSummary], there: Container[str], folders: Set[Path]) -> Iterator[str]:
    """Yield a notice about documents in these folders whose file is missing. ``there`` has the files that exist."""
    below = (each for each in documents if not folders.isdisjoint(Path(each.path).parents))
    if lost := sum(is_missing(each) for each in below if (each.container or each.path) not in there):
        files, them = ("the file is", "it") if lost == 1 else ("the files are", "them")
        yield f"{count(lost, 'document')} can still be searched, although {files} gone. `--sync` removes {them}."


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path.expanduser()))


def _notices(
    files: Iterable[PlannedFile], known: Mapping[str, DocumentSummary], current: IndexSettings
) -> Iterator[str]:
    read_again = {each.file.document for each in files if each.verdict is Verdict.SETTINGS}
    outdated = [entry for entry in known.values() if entry.parser and not current.is_current(entry)]
    here = [entry for entry in outdated if (entry.container or entry.path) in read_again]
    parsers = {entry: current.current_parser(entry) for entry in here if not current.has_current_parser(entry)}
    if parsers:
        yield _change_notice("parser", parsers.values(), [entry.parser for entry in parsers])
    chunkings = [entry.chunking for entry in here if entry.chunking != current.chunking]
    if chunkings:
        yield _change_notice("chunking", [current.chunking], chunkings)
    elsewhere = sum(entry.chunks > 0 for entry in outdated) - sum(entry.chunks > 0 for entry in here)
    if elsewhere:
        yield (
            f"{elsewhere} documents of the collection are not among these files and stay indexed with other settings. "
            "Ingest them, too, to index all with the same settings."
        )


def _change_notice(what: str, now: Iterable[str], before: Sequence[str]) -> str:
    new, old = (" or ".join(map(repr, sorted(set(names)))) for names in (now, before))
    return f"The {what} is now {new}, not {old}: {len(before)} files are read again."
