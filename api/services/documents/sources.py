"""Sources of collections: adds, lists and removes them, and stores what they have as files for the ingest."""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from pydantic import JsonValue, ValidationError

from api.errors import SettingsError, SourceNotFound, UsageError
from api.settings import Settings
from api.storage.uploads import Uploads, safe_name
from base.counts import count
from base.models import FrozenModel, describe_faults
from ingest.errors import SourceFailed
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState
from ingest.ledger.sources import EVERY, SourceRecord, SourceTable
from ingest.ledger.versions import remove_documents
from ingest.pipeline.discovery import FoundFile, SkippedFile
from ingest.pipeline.outcomes import found_record
from ingest.pipeline.plan import IngestRequest
from ingest.pipeline.rules import Rules
from ingest.pipeline.tally import IngestReport
from ingest.source import Item, Known, Source
from ingest.sources.file_system import PREFIX, FileSystemSource, LlamaIndexSource
from ingest.sources.git import PREFIX as GIT
from ingest.sources.git import GitAccess, GitSource, is_repository
from ingest.sources.imap import SCHEMES, ImapOptions, ImapSource
from ingest.sources.web import WebOptions, WebSource
from vectorstore.models import NAME
from vectorstore.store import Collection

_WEB = ("http://", "https://")
Options = TypeVar("Options", bound=FrozenModel)


def is_web_address(text: str) -> bool:
    """Return whether a text is an address of the web."""
    return text.lower().startswith(_WEB)


@dataclass
class Fetched:
    """The result of fetching addresses for an ingest: paths of files, failures, and what was left out."""

    request: IngestRequest
    """The request with the paths of the files."""
    paths: list[Path] = field(default_factory=list)
    failed: list[DocumentRecord] = field(default_factory=list)
    left_out: list[SkippedFile] = field(default_factory=list)

    def fail(self, address: str, reason: str) -> None:
        """Record that a document could not be fetched."""
        found = FoundFile(path=Path(address), document=address, name=address)
        self.failed.append(found_record(self.request.collection, found, DocumentState.FAILED, reason))

    def complete(self, report: IngestReport) -> IngestReport:
        """Add the failures of fetching to the report."""
        return report.model_copy(
            update={
                "files": report.files + len(self.failed),
                "failed": (*self.failed, *report.failed),
                "left_out": (*self.left_out, *report.left_out),
            }
        )


@dataclass(frozen=True)
class Sources:
    """The sources in the database. The files of a source are in a folder of uploads with its name."""

    table: SourceTable
    settings: Settings
    uploads: Uploads
    ledger: Ledger

    def add(self, source: SourceRecord, *, web_only: bool = False) -> SourceRecord:
        """Add a source and return it, or change one with the same address. An empty name is made from the address.

        Raises UsageError. ``web_only`` refuses addresses that could read files of this machine or run code.
        """
        if web_only and not is_web_address(source.address.removeprefix(GIT)):
            raise UsageError(
                f"{source.address!r} is not an address of the web. Add sources of other kinds with `candor sources "
                "add` on the machine of the service."
            )
        if _parts(source.address).password:
            raise UsageError("The address has a password. Write it into the options of the source, as a key.")
        if not NAME.fullmatch(source.collection):
            raise UsageError(f"{source.collection!r} is not a valid collection name.")
        added = source.model_copy(update={"name": source.name or _name_of(source.address)})
        if not NAME.fullmatch(added.name):
            raise UsageError(f"{added.name!r} cannot name a source. Use at most 63 letters, digits, '-' and '_'.")
        if not EVERY.fullmatch(added.every):
            raise UsageError(f"{added.every!r} is no interval. Write a number with m, h or d, such as 30m, 1h or 7d.")
        found = next((each for each in self.table.list(added.collection) if each.name == added.name), None)
        if found and found.address == added.address:  # its documents and the outcome of its last sync stay
            added = found.model_copy(update=added.model_dump(include={"options", "exclude", "include", "every"}))
        elif found or self._folder(added).exists():
            raise UsageError(
                f"Collection {added.collection!r} has a source or a folder {added.name!r}. Choose another name."
            )
        self._open(added)
        self.table.put(added)
        return added

    def find(self, collection: str, name: str) -> SourceRecord:
        """Return a source. Raises SourceNotFound."""
        found = self.table.list(collection)
        if source := next((each for each in found if each.name == name), None):
            return source
        names = ", ".join(each.name for each in found) or "it has none"
        raise SourceNotFound(f"Collection {collection!r} has no source {name!r} ({names}).")

    def remove(self, source: SourceRecord, opened: Collection | None) -> int:
        """Delete a source, its files and its documents. Returns the number of documents.

        ``opened`` is the collection, of which the caller holds the lock, or None if it does not exist.
        """
        folder = self._folder(source)
        gone = [
            each
            for each in self.ledger.snapshot(source.collection).values()
            if Path(each.path).is_relative_to(folder) and each.state is not DocumentState.REMOVED
        ]
        if opened:
            remove_documents(opened, self.ledger, gone, f"the source {source.name} was removed")
        self.uploads.drop(source.collection, source.name)
        self.table.remove(source)
        return len(gone)

    def fetch(self, request: IngestRequest, report: Callable[[str], None], cancelled: Callable[[], bool]) -> Fetched:
        """Store what the request names by URLs or as a source, and return the request with its paths.

        ``report`` is called with each address. The caller checks ``cancelled`` afterwards. Raises SourceFailed,
        SourceNotFound, UsageError.
        """
        if request.source:
            return self._sync(self.find(request.collection, request.source), request, report, cancelled)
        fetched = Fetched(request)
        kept = self._known(self.uploads.folder(request.collection)) if request.urls else {}
        for url in request.urls:
            known = {url: kept[url]} if url in kept else {}
            try:
                web = self._web(url, WebOptions(depth=0))  # no rule leaves out a page that a person names
                self._store(web, "", known, lambda _: "", fetched, report, cancelled)
            except SourceFailed as error:  # the other addresses are still fetched
                fetched.fail(url, str(error))
        if fetched.failed and not (fetched.paths or request.paths):
            raise SourceFailed(" ".join(each.reason for each in fetched.failed))
        fetched.request = request.model_copy(update={"paths": (*request.paths, *fetched.paths)})
        return fetched

    def _sync(
        self, source: SourceRecord, request: IngestRequest, report: Callable[[str], None], cancelled: Callable[[], bool]
    ) -> Fetched:
        """Store all documents of a source, and delete the files of those that it no longer has."""
        folder = self._folder(source)
        fetched, known = Fetched(request), self._known(folder)
        try:
            self._store(self._open(source), source.name, known, self._judge(source), fetched, report, cancelled)
            if not (fetched.paths or cancelled()):
                why = fetched.failed[0].reason if fetched.failed else "Its documents of earlier syncs stay."
                raise SourceFailed(f"The source {source.name} ({source.address}) has no document. {why}")
        except (SourceFailed, UsageError) as error:
            self.table.note(source, len(known), str(error))
            raise
        if cancelled():
            return fetched
        for path in {each.path for each in known.values()} - set(fetched.paths):
            self.uploads.remove(path)
        unread = f"{count(len(fetched.failed), 'document')} could not be read. " if fetched.failed else ""
        self.table.note(source, len(fetched.paths), unread + (fetched.failed[0].reason if unread else ""))
        options = {"paths": (folder,), "sync": True, "exclude": source.exclude, "include": source.include}
        fetched.request = request.model_copy(update=options)
        return fetched

    def _store(
        self,
        source: Source,
        prefix: str,
        known: Mapping[str, Known],
        judge: Callable[[str], str],
        fetched: Fetched,
        report: Callable[[str], None],
        cancelled: Callable[[], bool],
    ) -> None:
        """Store each item of a source below the folder ``prefix``."""
        for item in source.items(known):
            if cancelled():
                return
            report(item.address)
            old = known.get(item.address)
            item = self._place(item, prefix, fetched, judge) if item.name else item
            if item.skipped:
                fetched.left_out.append(SkippedFile(path=item.address, name=item.address, reason=item.skipped))
            elif old and (item.is_unchanged or item.error):
                fetched.paths.append(old.path)
            if item.error:
                fetched.fail(item.address, item.error)

    def _place(self, item: Item, prefix: str, fetched: Fetched, judge: Callable[[str], str]) -> Item:
        """Store the content of an item, unless a rule leaves it out. Return the item with what is wrong with it."""
        if why := judge(item.name):
            return item._replace(skipped=why)
        try:
            name, collection = safe_name(f"{prefix}/{item.name}".lstrip("/")), fetched.request.collection
            path = self.uploads.keep(collection, name, item.content, item.address, item.version)
        except UsageError as error:
            return item._replace(error=str(error))
        fetched.paths.append(path)
        return item

    def _open(self, source: SourceRecord) -> Source:
        """Return what reads the source. Raises UsageError for invalid options."""
        options, judge, most = self._with_keys(source.options), self._judge(source), self._max_bytes
        if source.address.startswith(PREFIX):
            return LlamaIndexSource(source.address, options)
        if is_repository(source.address):
            access, allowed = _checked(GitAccess, options), self.settings.ingest.allow_private_addresses
            return GitSource(source.address, access, judge, max_bytes=most, allow_private=allowed)
        if is_web_address(source.address):
            return self._web(source.address, _checked(WebOptions, options))
        if source.address.startswith(SCHEMES):
            return ImapSource(source.address, _checked(ImapOptions, options), max_bytes=most)
        if "://" not in source.address:
            raise UsageError(
                f"{source.address!r} is no source. Write a web address, the address of a Git repository "
                f"({GIT}https://…) or of mail (imaps://…), one that fsspec opens (such as s3://bucket/folder), or "
                f"{PREFIX}MODULE.CLASS. `candor ingest` reads files and folders."
            )
        return FileSystemSource(source.address, options, judge, max_bytes=most)

    def _web(self, address: str, options: WebOptions) -> WebSource:
        allowed = self.settings.ingest.allow_private_addresses
        return WebSource(address, options, max_bytes=self._max_bytes, allow_private=allowed)

    @property
    def _max_bytes(self) -> int:
        return self.settings.ingest.max_file_mb << 20

    def _with_keys(self, options: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        """Replace each `{key = "NAME"}` by that key of the settings, so that the database holds no secrets."""
        return {name: self._with_key(value) for name, value in options.items()}

    def _with_key(self, value: JsonValue) -> JsonValue:
        if isinstance(value, list):
            return [self._with_key(each) for each in value]
        if not isinstance(value, dict):
            return value
        name = value.get("key")
        if len(value) > 1 or not isinstance(name, str):
            return self._with_keys(value)
        if name not in self.settings.keys:
            raise SettingsError(f"The source needs the key {name!r}. Add it to the table [keys] of the settings.")
        return self.settings.keys[name].get_secret_value()

    def _judge(self, source: SourceRecord) -> Callable[[str], str]:
        """Return a function that takes a file name, and returns why the file is left out or an empty string."""
        folder = self._folder(source)
        rules = Rules.create(folder, source.exclude, source.include, (), None)

        def judge(name: str) -> str:
            why = rules.judge(Path(unicodedata.normalize("NFC", str(folder / name))), is_folder=False)
            return f"{why.reason} ({why.rule})" if why else ""

        return judge

    def _folder(self, source: SourceRecord) -> Path:
        return self.uploads.folder(source.collection) / source.name

    def _known(self, folder: Path) -> dict[str, Known]:
        return {url: Known(*each) for url, each in self.uploads.kept(folder).items()}


def require_web_addresses(urls: Sequence[str]) -> None:
    """Raise UsageError unless all of these are addresses of the web."""
    for url in urls:
        if not is_web_address(url):
            raise UsageError(f"{url!r} is not an address of the web. It must begin with https:// or http://.")


def _parts(address: str) -> SplitResult:
    """Return the parts of an address. Raises UsageError."""
    try:
        if not address.isprintable():
            raise ValueError("it has a character that cannot be printed")
        return urlsplit(address)
    except ValueError as error:
        raise UsageError(f"{address!r} is no valid address: {error}.") from error


def _checked(model: type[Options], options: Mapping[str, JsonValue]) -> Options:
    """Return the options of a kind of source. Raises UsageError."""
    try:
        return model.model_validate(options)
    except ValidationError as error:
        raise UsageError(f"Invalid options of the source: {describe_faults(error)}.") from error


def _name_of(address: str) -> str:
    """Return a name for the source at an address, such as `example-org-news`."""
    words = re.findall(r"[A-Za-z0-9]+", address.removeprefix(PREFIX).rpartition("://")[2])
    return "-".join(words)[:63].strip("-") or "source"
