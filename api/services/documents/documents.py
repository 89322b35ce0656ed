"""Use cases for listing, finding, reading, tagging and removing documents."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from api.errors import UsageError
from api.services.documents.collections import Collections
from api.services.documents.differences import Differences, compare_texts
from api.storage.uploads import Uploads
from ingest.errors import DocumentNotFound
from ingest.fields import tag_names
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentRecord, DocumentState, DocumentText
from ingest.ledger.versions import remove_documents
from multi_agent.library import Library
from multi_agent.values.versions import find_versions
from vectorstore.models import names_in
from vectorstore.store import Collection


class Documents:
    """The documents of all collections. Calls block."""

    def __init__(self, collections: Collections, ledger: Ledger, uploads: Uploads) -> None:
        self._collections, self._ledger, self._uploads = collections, ledger, uploads

    def find(self, reference: str, collection: str | None) -> DocumentRecord:
        """Find a document by its id, the beginning of its id, its path or its name.

        In several collections, a name may begin with its collection. Raises UsageError, CollectionNotFound,
        IngestError.
        """
        *others, last = self._candidates(reference, self._collections.resolve(collection))
        for name, within in others:
            with suppress(DocumentNotFound):
                return self._ledger.find(self._existing(name), within)
        name, within = last
        return self._ledger.find(self._existing(name), within)

    def _candidates(self, reference: str, selection: str) -> list[tuple[str, str]]:
        """Return the collections that may have the document, each with the reference within it."""
        names = names_in(selection)
        first, _, rest = reference.partition("/")
        if len(names) > 1 and first in names and rest:
            return [(first, rest)]
        return [(name, reference) for name in names]

    def text(self, document: DocumentRecord) -> DocumentText:
        """Return the parsed text of a document. Raises IngestError."""
        return self._ledger.text(document.collection, document.id)

    def compare(self, old: str, new: str, collection: str | None) -> Differences:
        """Return what differs between two documents. Raises UsageError, CollectionNotFound and IngestError."""
        before, after = self.find(old, collection), self.find(new, collection)
        found = compare_texts(self.text(before), self.text(after), before.name, after.name)
        warnings = tuple(f"{each.name}: {text}" for each in (before, after) for text in each.warnings)
        return found.model_copy(update={"warnings": warnings, "old_id": before.id, "new_id": after.id})

    def version_before(self, document: DocumentRecord, library: Library) -> DocumentRecord:
        """Return the version before a document of a library. Raises UsageError if none is found, StoreError."""
        for versions in find_versions(library.catalogue(), library.scan):
            ages = {entry.id: age for age, entry in versions}
            if older := [key for key, age in ages.items() if document.id in ages and age < ages[document.id]]:
                return self._ledger.find(document.collection, older[-1])
        raise UsageError(
            f"No version before {document.name!r} was found: no older document of {document.collection!r} has its "
            "title or the first word of its name, and 70 % of its sentences. Name the document to compare it with."
        )

    def tag(
        self, reference: str, collection: str | None, *, add: Sequence[str] = (), remove: Sequence[str] = ()
    ) -> DocumentRecord:
        """Add and remove tags of a document. Return its new record.

        Raises UsageError, for example if a tag to remove does not exist, CollectionNotFound and IngestError.
        """
        found, added, removed = self.find(reference, collection), tag_names(add), tag_names(remove)
        if not (added or removed):
            raise UsageError("There is nothing to change. Name tags to add or to remove.")
        if missing := [tag for tag in removed if tag not in found.tags]:
            tags = f"Its tags are: {', '.join(found.tags)}." if found.tags else "It has no tags."
            raise UsageError(f"{found.name!r} does not have the tag {missing[0]!r}. {tags} Nothing was changed.")
        if both := [tag for tag in removed if tag in added]:
            raise UsageError(f"The tag {both[0]!r} is both added and removed. Nothing was changed.")
        self._ledger.tag(found.collection, [found.id], add=added, remove=removed)
        changed = self._ledger.find(found.collection, found.id)
        if stated := [tag for tag in removed if tag in changed.tags]:
            raise UsageError(f"{found.name!r} or its metadata states the tag {stated[0]!r}. Change it there.")
        return changed

    def remove(
        self, found: DocumentRecord, opened: Collection | None = None, put: Callable[[], str] | None = None
    ) -> None:
        """Remove a document, its members if it is an archive, and its file if it was uploaded.

        ``put`` adds a bin entry and returns its id; the entry then holds what was removed. Without ``put``, it is
        deleted permanently. ``opened`` is the collection, if this process has it open. Raises IngestError, StoreError.
        """
        with self._collections.change(found.collection, opened) as changed:
            there = self._ledger.get(found.collection, found.id)
            if there is None or there.state is DocumentState.REMOVED:
                raise DocumentNotFound(f"{found.name!r} was removed from the collection {found.collection!r} already.")
            members = self._ledger.members(found.collection, found.path)
            place = put() if put else ""
            if place:
                self._ledger.keep(found.collection, [found, *members], place)
            remove_documents(changed, self._ledger, members, "removed by a user together with its container")
            remove_documents(changed, self._ledger, [found], "removed by hand")
            if self.is_uploaded(found):
                self._uploads.remove(Path(found.path), place)

    def restore(self, collection: str, document: str, place: str) -> bool:
        """Restore a document from the bin entry ``place``. Return whether its passages have to be embedded again.

        Raises InBin, IngestError, and UsageError if the document is there again.
        """
        self._collections.require_kept(collection)
        with self._collections.lock(collection):
            there = self._ledger.get(collection, document)
            if there and there.state is not DocumentState.REMOVED:
                raise UsageError(f"{there.name!r} is in the collection {collection!r} again. Remove it there first.")
            if kept := self._ledger.get(place, document):
                self._uploads.restore(Path(kept.path), place)
            had_passages = self._ledger.restore(collection, place)
        self._uploads.forget(place)
        return had_passages

    def forget(self, place: str) -> None:
        """Delete what the bin entry ``place`` holds, permanently."""
        self._ledger.forget(place)
        self._uploads.forget(place)

    def is_uploaded(self, found: DocumentRecord) -> bool:
        """Return whether the file of a document was uploaded, so that Candor owns it."""
        return not found.container and self._uploads.holds(found.collection, Path(found.path))

    def _existing(self, collection: str | None) -> str:
        name = self._collections.resolve(collection)
        self._collections.require_known(name)
        return name

    def list(
        self,
        collection: str | None,
        state: str | None,
        *,
        limit: int | None = None,
        after: str = "",
        warned: bool = False,
    ) -> list[DocumentRecord]:
        """Return the documents of a collection by name, optionally only those in one state or with warnings.

        With ``limit``, return at most so many, beginning behind the document with the id ``after``.

        Raises UsageError, CollectionNotFound.
        """
        if state is not None and state not in list(DocumentState):
            raise UsageError(f"Unknown state {state!r}. The states are {', '.join(DocumentState)}.")
        wanted = DocumentState(state) if state else None
        return self._ledger.list(self._existing(collection), wanted, limit=limit, after=after, warned=warned)
