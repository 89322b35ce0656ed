"""Searches the collection of the run, and reads its documents from a given passage on."""

import asyncio
import difflib
from collections.abc import Sequence
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import ToolError
from multi_agent.library import Library
from multi_agent.prompts.show_passages import pack_passages
from multi_agent.settings.tools import ToolSettings
from multi_agent.tool import KitTool, ToolCard, ToolResult
from vectorstore.models import Chunk

_MAX_SUGGESTIONS = 5


class Reading(FrozenModel):
    """What is to be read."""

    document: str = Field(min_length=1, description="name of the document, as it stands over its passages")
    start: int = Field(default=1, ge=1, description="the passage to begin with, counted in the document from 1")


class ReadDocument(KitTool):
    """Returns passages of a document in order, as many as fit into a result."""

    card: ClassVar[ToolCard] = ToolCard(
        name="read_document",
        description="Reads one of the person's documents in order, from its beginning or from a passage on: for what "
        "stands around a passage that was found, or to know the whole. What it states can be quoted.",
        inputs=Reading,
        source="documents",
    )

    async def __call__(self, given: Reading) -> ToolResult:
        chunks = await asyncio.to_thread(_passages, self._kit.library, given.document)
        shown, last = read_on(chunks, given.start, self._kit.settings, repr(given.document))
        where = f"Passages {given.start} to {last} of {len(chunks)} in {given.document}:"
        return ToolResult(text=where, passages=shown)


def read_on(chunks: Sequence[Chunk], start: int, settings: ToolSettings, name: str) -> tuple[tuple[Chunk, ...], int]:
    """Return the passages from ``start`` on that fit into a result, and the number of the last one.

    Raises ToolError if there are fewer passages.
    """
    if start > len(chunks):
        raise ToolError(f"{name} has only {len(chunks)} passages.")
    shown = next(pack_passages(chunks[start - 1 :], most=len(chunks), tokens=settings.result_characters / 3))
    return shown, start + len(shown) - 1


def _passages(library: Library, document: str) -> list[Chunk]:
    names = [entry.name for entry in library.catalogue()]
    if document not in names:
        similar = difflib.get_close_matches(document, names, n=_MAX_SUGGESTIONS, cutoff=0.3)
        suggestion = f" Did you mean {', '.join(map(repr, similar))}?" if similar else ""
        raise ToolError(f"There is no document {document!r}.{suggestion}")
    return library.scan([document])


class Search(FrozenModel):
    """What is to be searched for."""

    queries: tuple[str, ...] = Field(
        min_length=1, max_length=6, description="what to look for, in one to six different wordings"
    )
    limit: int = Field(default=6, ge=1, le=20, description="passages at most, over all wordings")


class SearchDocuments(KitTool):
    """Runs the same hybrid search as the Retriever."""

    card: ClassVar[ToolCard] = ToolCard(
        name="search_documents",
        description="Searches the person's documents by meaning and by words, and gives the best passages, numbered. "
        "What they state can be quoted.",
        inputs=Search,
        source="documents",
    )

    async def __call__(self, given: Search) -> ToolResult:
        hits = await asyncio.to_thread(self._kit.library.search, given.queries, given.limit)
        found = [hit.chunk for hit in hits]
        if not found:
            return ToolResult(text="Nothing was found.")
        fitting = next(pack_passages(found, most=len(found), tokens=self._kit.settings.result_characters / 3))
        shown = tuple(sorted(fitting, key=lambda chunk: (chunk.name, chunk.index)))
        left_out = f"{len(found) - len(shown)} more were found; search for less to see them."
        return ToolResult(text=left_out if len(shown) < len(found) else "", passages=shown)
