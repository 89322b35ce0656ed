"""The research panel's view of a collection, with passages from the store and documents from the ledger."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any, NamedTuple

from ingest.document import CURRENCY, ISSUER, KIND, PERIOD
from ingest.ledger.ledger import Ledger
from ingest.ledger.records import OF_FILES, document_date, file_days, file_type, stated_dates
from ingest.ledger.rows import NOTHING, Own
from multi_agent.errors import PictureUnavailable
from multi_agent.library import CatalogueEntry
from vectorstore.models import Chunk, ChunkFilter, FieldValue, Hit
from vectorstore.reranking import Reranker
from vectorstore.retrieval import Retriever
from vectorstore.store import EVERYTHING
from vectorstore.text.languages import LANGUAGE

Catalogue = Callable[..., Sequence[CatalogueEntry]]
"""Returns the documents of a collection. ``within`` is an optional condition on their paths."""
_LISTED = (KIND, ISSUER, PERIOD, CURRENCY)  # shown without names, so a DATE could be mistaken for the period


def no_pictures(chunk: Chunk, page: int) -> bytes:
    """Raise PictureUnavailable. The default for a library without access to the files of its documents."""
    raise PictureUnavailable(f"Page {page} of {chunk.name!r} cannot be drawn: the library has no access to its files.")


@dataclass(frozen=True)
class CollectionLibrary:
    """Implements ``multi_agent.library.Library``."""

    collection: str
    catalogue: Catalogue
    retriever: Retriever
    draw: Callable[[Chunk, int], bytes] = no_pictures
    """Returns a page of the chunk's document as PNG."""
    find_ids: Callable[[Sequence[str]], Sequence[str]] | None = None
    """Returns the ids of the searchable documents with these names or ids. None looks through the catalogue."""
    days: Callable[[Sequence[str]], Mapping[str, Mapping[str, str]]] = field(default=lambda _: {})
    """Returns the days of the documents that the store does not know, as metadata of their chunks, by id."""
    unread: Callable[[], Sequence[CatalogueEntry]] = tuple
    """Returns the files that could not be read."""
    reranker: Reranker | None = None

    def index(self) -> Mapping[str, str]:
        spec = self.retriever.spec
        reranker = {"reranker": self.reranker.name} if self.reranker else {}
        return {"embedding model": spec.embedding_model, "chunking": spec.chunking, **reranker}

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Hit]:
        if (where := self._filter(documents)) is None:
            return []
        reranker = None if self.reranker and self.reranker.asks_llm else self.reranker  # agents ask their own model
        hits = self.retriever.search(queries, limit, where, reranker=reranker)
        chunks = self._with_days([hit.chunk for hit in hits])
        return [hit.model_copy(update={"chunk": chunk}) for hit, chunk in zip(hits, chunks, strict=True)]

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        return self._with_days(self.retriever.around(chunks, reach))

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        where = self._filter(documents)
        return [] if where is None else self._with_days(list(self.retriever.scan(where)))

    def mentions(self, words: Sequence[str], documents: Sequence[str] = ()) -> list[Chunk]:
        where = self._filter(documents)
        return [] if where is None else self.retriever.mentions(words, where)

    def page_picture(self, chunk: Chunk, page: int) -> bytes:
        return self.draw(chunk, page)

    def _with_days(self, chunks: Sequence[Chunk]) -> list[Chunk]:
        """Return the chunks with the days of their documents, which the store does not know."""
        days = self.days(list(dict.fromkeys(chunk.document_id for chunk in chunks)))
        return [
            chunk.model_copy(update={"metadata": {**chunk.metadata, **days.get(chunk.document_id, {})}})
            for chunk in chunks
        ]

    def _filter(self, documents: Sequence[str]) -> ChunkFilter | None:
        """Return the filter for these documents, or None if none exists, because an empty filter matches everything."""
        if not documents:
            return EVERYTHING
        ids = self._ids(documents)
        return ChunkFilter(documents=tuple(ids)) if ids else None

    def _ids(self, documents: Sequence[str]) -> Sequence[str]:
        if self.find_ids:
            return self.find_ids(documents)
        named = set(documents)
        return [entry.id for entry in self.catalogue() if entry.name in named or entry.id in named]


def list_catalogue(
    ledger: Ledger, collection: str, *, unread: bool = False, within: Callable[[str], bool] | None = None
) -> list[CatalogueEntry]:
    """Return the searchable documents of a collection. With ``unread``, return those that are not searchable.

    ``within`` is an optional condition on their paths. A failed new version does not hide the indexed one.
    """
    read = cache(_read_facts)
    rows = ledger.catalogue(collection, unread=unread, within=within)
    return [
        _entry(row, own, _read_facts(row.metadata, row.facts, own) if own.fields else read(row.metadata, row.facts))
        for row, own in rows
    ]


class _Facts(NamedTuple):
    """The facts and metadata of a document. Documents with equal JSON share one instance."""

    listed: tuple[str, ...]
    metadata: Mapping[str, FieldValue]
    language: str
    stated: date | None
    saved: date | None
    """The day in the properties of its file."""


def _read_facts(metadata_json: str, facts_json: str, own: Own = NOTHING) -> _Facts:
    metadata = json.loads(metadata_json)
    facts = {name: each["value"] for name, each in json.loads(facts_json).items()}
    known = {**metadata, **facts, **own.fields}
    return _Facts(
        listed=tuple(facts[fact] for fact in _LISTED if fact in facts),
        metadata=known,
        language=metadata.get(LANGUAGE, ""),
        stated=document_date(stated_dates(own.fields, facts), 0.0) if facts or own.fields else None,
        saved=document_date(file_days(known), 0.0),
    )


def _entry(row: Sequence[Any], own: Own, facts: _Facts) -> CatalogueEntry:
    key, name, path, title, chunks, pages, version, modified, mime_type, _, _, warnings, state, reason = row
    changed = facts.saved or document_date((), modified)
    return CatalogueEntry(
        name=name,
        id=key,
        title=str(own.fields.get("title", title)),
        chunks=chunks,
        pages=pages,
        facts=facts.listed,
        language=facts.language,
        path=path,
        type=file_type(name, mime_type),
        dated=facts.stated or changed,
        stated=facts.stated,
        changed=changed,
        state=state,
        reason=reason,
        tags=own.tags,
        metadata=facts.metadata,
        own=tuple(field for field in own.fields if field not in OF_FILES),
        version=version[:16],
        warnings=tuple(json.loads(warnings)) if warnings != "[]" else (),
    )
