"""Embeds a whole collection with another model into a second stored collection, which then replaces the first.

Searches use the first collection until all documents are done. No file is read: the ledger stores the parsed text of
every document, even if its file was moved or deleted. The ledger keeps the new rows under a staging name. If the
process is killed, the collection is unchanged, and the next ingest continues.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress

from pydantic import Field

from base.models import FrozenModel
from ingest.ledger.aliases import CollectionAliases, staging_name
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import DocumentSummary
from ingest.ledger.versions import delete_hidden_chunks
from ingest.pipeline.stored_text import StoredTextIngest
from ingest.pipeline.tally import Progress, Tally
from vectorstore.errors import CollectionNotFound, ForeignCollection
from vectorstore.models import CollectionSpec
from vectorstore.store import Collection, VectorStore


class ModelChange(FrozenModel):
    """The collection was embedded with another model than the configured one."""

    collection: str
    before: str
    now: str
    documents: int = Field(description="indexed documents, all of which have to be embedded again")

    @property
    def notice(self) -> str:
        """The message to show before the documents are embedded again."""
        return (
            f"The embedding model is now {self.now!r}, not {self.before!r}: all {self.documents} indexed documents of "
            f"collection {self.collection!r} are embedded again from their stored text, also those that are not among "
            "these files or whose files are gone. Until all are done, searches use the vectors of "
            f"{self.before!r}."
        )

    def apply(self, known: Mapping[str, DocumentSummary], chunking: str) -> dict[str, DocumentSummary]:
        """Return the ledger's snapshot as it will be after the change."""
        return {identity: each._replace(chunking=chunking) if each.chunks else each for identity, each in known.items()}


class ReembedReport(FrozenModel):
    """The result of embedding a collection again."""

    change: ModelChange
    rebuilt: int = Field(description="documents embedded now; an earlier attempt may have embedded others")
    chunks: int
    embedded: int = Field(description="distinct texts that had to be embedded for the chunks")
    seconds: float


def reembed(
    change: ModelChange,
    known: Mapping[str, DocumentSummary],
    successor: Collection,
    ledger: Ledger,
    documents: StoredTextIngest,
    progress: Callable[[Progress], None],
    cancelled: Callable[[], bool],
) -> ReembedReport | None:
    """Embed the documents that an earlier attempt has not; return None if cancelled before all are done.

    ``known`` is the ledger's snapshot of the collection. ``documents`` writes to ``successor``, the stored collection
    that will replace the live one. Raises StoreError, LedgerUnavailable.
    """
    live = {each.id: each for each in known.values() if each.chunks}
    staged = staging_name(successor.spec.name)
    done = _done(live, ledger, staged)
    tally = Tally(len(live), progress, cancelled, unchanged=len(done))
    documents.write([each for identity, each in live.items() if identity not in done], tally)
    if tally.was_cancelled:
        return None
    delete_hidden_chunks(successor, ledger, staged)
    successor.optimize(cancelled=cancelled)  # before searches use it
    return ReembedReport(
        change=change, rebuilt=tally.indexed, chunks=tally.chunks, embedded=tally.embedded,
        seconds=round(tally.seconds, 3),
    )  # fmt: skip


def _done(live: Mapping[str, DocumentSummary], ledger: Ledger, staged: str) -> set[str]:
    """Return the documents that an earlier attempt embedded. Remove those that changed or were removed since."""
    done, changed = set(), []
    for before in ledger.snapshot(staged).values():
        now = live.get(before.id)
        if before.chunks and now and (before.version, before.parser) == (now.version, now.parser):
            done.add(before.id)
        elif before.chunks:
            changed.append(before)
    ledger.remove(staged, changed, "replaced")
    return done


def open_successor(spec: CollectionSpec, store: VectorStore, aliases: CollectionAliases) -> Collection:
    """Open the collection to rebuild into: the one that an earlier attempt with the same spec began, or a new one.

    ``spec`` is named after the collection to replace.
    """
    name = spec.name
    begun = spec.model_copy(update={"name": aliases.building(name)})
    if begun.name and store.find(begun.name) in (None, begun):
        return store.create(begun)
    aliases.abandon_rebuild(name)
    stored = [each.name for each in store.list()]
    stored_name = aliases.start_rebuild(name, taken={*stored, *aliases.retired(name)})
    return store.create(spec.model_copy(update={"name": stored_name}))


def drop_replaced(name: str, store: VectorStore, ledger: Ledger, aliases: CollectionAliases) -> None:
    """Drop the stored collections that were replaced, and the unfinished rebuild for a model no longer configured.

    Raises CollectionLocked while one is still searched.
    """
    aliases.abandon_rebuild(name)
    for stored_name in aliases.retired(name):
        # An earlier call may have been killed after this step, and another database may use the name since.
        with suppress(CollectionNotFound, ForeignCollection):
            store.drop(stored_name)
        ledger.forget(staging_name(stored_name))
        aliases.forget(stored_name)
