"""The library of a run with a document filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from multi_agent.library import CatalogueEntry, Library
from multi_agent.values.document_filter import DocumentFilter, Selection
from vectorstore.models import Chunk, Hit


class FilteredLibrary:
    """The documents of a library that match a filter. Implements ``Library``.

    The documents are selected once, so that every search of a run uses the same ones. Raises NoDocumentMatches.
    """

    def __init__(self, library: Library, wanted: DocumentFilter) -> None:
        self._library = library
        catalogue = library.catalogue()
        self._documents = wanted.choose(catalogue, library.collection)
        self._unread = wanted.matching(library.unread())
        self.selection = Selection(filter=wanted, documents=len(self._documents), total=len(catalogue))

    @property
    def collection(self) -> str:
        return self._library.collection

    def index(self) -> Mapping[str, str]:
        return self._library.index()

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

    def page_picture(self, chunk: Chunk, page: int) -> bytes:
        return self._library.page_picture(chunk, page)

    def _ids(self, documents: Sequence[str]) -> tuple[str, ...]:
        """Return the ids of the selected documents. With ``documents``, only those with these names or ids."""
        return tuple(
            entry.id for entry in self._documents if not documents or entry.name in documents or entry.id in documents
        )
