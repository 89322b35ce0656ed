"""The library of a run with a document filter, or with the passages that the caller gave with the question."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property

from multi_agent.grounding.quotes import fold
from multi_agent.library import CatalogueEntry, Library
from multi_agent.values.request import DocumentFilter, RagResult, Selection
from multi_agent.values.sources import given_passages
from vectorstore.mentions import WantedWords
from vectorstore.models import Chunk, Hit


class _Wrapper:
    """Has the name, the settings and the page pictures of another library."""

    def __init__(self, library: Library) -> None:
        self._library = library

    @property
    def collection(self) -> str:
        return self._library.collection

    def index(self) -> Mapping[str, str]:
        return self._library.index()

    def page_picture(self, chunk: Chunk, page: int) -> bytes:
        return self._library.page_picture(chunk, page)


class FilteredLibrary(_Wrapper):
    """The documents of a library that match a filter. Implements ``Library``.

    The documents are selected once, so that every search of a run uses the same ones. Raises NoDocumentMatches.
    """

    def __init__(self, library: Library, wanted: DocumentFilter) -> None:
        super().__init__(library)
        catalogue = library.catalogue()
        self._documents, older = wanted.select(catalogue, library.collection, library.scan)
        self._unread = wanted.matching(library.unread())
        self.selection = Selection(filter=wanted, documents=len(self._documents), total=len(catalogue), older=older)

    def catalogue(self) -> Sequence[CatalogueEntry]:
        return self._documents

    def unread(self) -> Sequence[CatalogueEntry]:
        return self._unread

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Hit]:
        ids = self._ids(documents)
        return self._library.search(queries, limit, ids) if ids else []

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        return self._library.around(chunks, reach)  # returns chunks of the same documents

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        ids = self._ids(documents)
        return self._library.scan(ids) if ids else []

    def mentions(self, words: Sequence[str], documents: Sequence[str] = ()) -> list[Chunk]:
        ids = self._ids(documents)
        return self._library.mentions(words, ids) if ids else []

    def _ids(self, documents: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the selected documents. With ``documents``, only those with these names or ids."""
        return tuple(
            entry.id for entry in self._documents if not documents or entry.name in documents or entry.id in documents
        )


_QUERY = 1_000  # characters of a given passage that are used as a query
_CANDIDATES = 4  # results per given passage
_GIVEN = "given with the question"


class GivenLibrary(_Wrapper):
    """Adds the caller's passages to a library. Implements ``Library``.

    The given passages come first in every search. Unless ``search`` is False, results of the collection follow. A given
    passage that the collection contains is replaced with its chunk. Other passages keep the origin ``GivenPassage``.
    """

    def __init__(self, library: Library, results: Sequence[RagResult], *, search: bool) -> None:
        super().__init__(library)
        self._results, self._searches = results, search

    def catalogue(self) -> Sequence[CatalogueEntry]:
        """Return the given documents and the documents of the collection, sorted by name.

        Without a search, documents of the collection are listed only if the caller gave passages of them.
        """
        read = {chunk.document_id for chunk in self._passages}
        documents = [entry for entry in self._documents if self._searches or entry.id in read]
        sizes = Counter(chunk.document_id for chunk in self._given)
        given = {chunk.document_id: chunk.name for chunk in self._given}
        entries = [
            CatalogueEntry(name=name, id=key, chunks=sizes[key], given=True, facts=(_GIVEN,))
            for key, name in given.items()
        ]
        return sorted([*documents, *entries], key=lambda entry: entry.name)

    def unread(self) -> Sequence[CatalogueEntry]:
        return self._library.unread() if self._searches else ()

    def search(self, queries: Sequence[str], limit: int, documents: Sequence[str] = ()) -> list[Hit]:
        """Return the given passages, regardless of queries and documents, then the best ones of the collection."""
        given = self._passages[:limit]
        known = {chunk.id for chunk in given}
        found = self._library.search(queries, limit, documents) if self._searches and len(given) < limit else []
        first = (Hit(chunk=chunk, score=0.0, exact=True) for chunk in given)
        return [*first, *(hit for hit in found if hit.chunk.id not in known)][:limit]

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        """Return the chunks around the given ones that are in the collection, or none if ``search`` is False."""
        indexed = [chunk for chunk in chunks if chunk.origin is None]
        return self._library.around(indexed, reach) if self._searches and indexed else []

    def scan(self, documents: Sequence[str] = ()) -> list[Chunk]:
        """Return all given passages and all chunks of the collection, optionally of the named documents only."""
        given = [chunk for chunk in self._passages if not documents or chunk.name in documents]
        return self._with_collection(given, lambda: self._library.scan(documents))

    def mentions(self, words: Sequence[str], documents: Sequence[str] = ()) -> list[Chunk]:
        """Return the given passages and the chunks of the collection that have one of the words."""
        wanted = WantedWords(words)
        given = [
            chunk
            for chunk in self._passages
            if (not documents or chunk.name in documents) and wanted.mentioned_in(chunk)
        ]
        return self._with_collection(given, lambda: self._library.mentions(words, documents))

    def _with_collection(self, given: list[Chunk], read: Callable[[], list[Chunk]]) -> list[Chunk]:
        """Return the given passages, followed by the other ones of the collection if it may be searched."""
        known = {chunk.id for chunk in given}
        return [*given, *(chunk for chunk in (read() if self._searches else ()) if chunk.id not in known)]

    @cached_property
    def _documents(self) -> Sequence[CatalogueEntry]:
        return self._library.catalogue()

    @cached_property
    def _recognised(self) -> dict[int, Chunk]:
        """The chunks of the collection that match given results, by the position of the result."""
        if not self._documents:
            return {}
        queries = [result.text[:_QUERY] for result in self._results]
        found = [hit.chunk for hit in self._library.search(queries, _CANDIDATES * len(queries))]
        matches = ((at, _find(result, found)) for at, result in enumerate(self._results))
        return {at: chunk for at, chunk in matches if chunk}

    @cached_property
    def _passages(self) -> list[Chunk]:
        """All given passages in the caller's order, without duplicates."""
        taken = {entry.name for entry in self._documents}
        read = (
            self._recognised.get(at) or _with_own_name(chunk, taken)
            for at, chunk in enumerate(given_passages(self._results))
        )
        return list({chunk.id: chunk for chunk in read}.values())

    @property
    def _given(self) -> list[Chunk]:
        """The given passages that are not in the collection."""
        return [chunk for chunk in self._passages if chunk.origin]


def _with_own_name(chunk: Chunk, taken: Collection[str]) -> Chunk:
    """Return the chunk, renamed if a document of the collection has its name."""
    return chunk.model_copy(update={"name": f"{chunk.name} (given)"}) if chunk.name in taken else chunk


def _find(result: RagResult, chunks: Sequence[Chunk]) -> Chunk | None:
    """Return the chunk with the text of the result, or the chunk that it names and that contains its text.

    If several chunks have the same text, return the one that the result names.
    """
    text = fold(result.text)
    same = [chunk for chunk in chunks if text in (fold(chunk.text), fold(chunk.reading_text))]
    named = [chunk for chunk in chunks if chunk.id == result.chunk_id and text in fold(chunk.reading_text)]
    of_document = [chunk for chunk in same if result.document in (chunk.name, chunk.document_id, chunk.document)]
    return next(iter([*named, *of_document, *same]), None)
