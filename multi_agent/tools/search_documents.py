"""Searches the collection of the run."""

from __future__ import annotations

import asyncio
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.prompts.show_passages import sort_passages
from multi_agent.tool import ToolCard, ToolKit, ToolResult
from multi_agent.tools.read_document import fit_passages


class Search(FrozenModel):
    """What is to be searched for."""

    queries: tuple[str, ...] = Field(
        min_length=1, max_length=6, description="what to look for, in one to six different wordings"
    )
    limit: int = Field(default=6, ge=1, le=20, description="passages at most, over all wordings")


class SearchDocuments:
    """Runs the same hybrid search as the Retriever."""

    card: ClassVar[ToolCard] = ToolCard(
        name="search_documents",
        description="Searches the person's documents by meaning and by words, and gives the best passages, numbered. "
        "What they state can be quoted.",
        inputs=Search,
        source="documents",
    )

    def __init__(self, kit: ToolKit) -> None:
        self._kit = kit

    async def __call__(self, given: Search) -> ToolResult:
        hits = await asyncio.to_thread(self._kit.library.search, given.queries, given.limit)
        found = [hit.chunk for hit in hits]
        if not found:
            return ToolResult(text="Nothing was found.")
        shown = sort_passages(fit_passages(found, self._kit.settings.result_characters))
        left_out = f"{len(found) - len(shown)} more were found; search for less to see them."
        return ToolResult(text=left_out if len(shown) < len(found) else "", passages=shown)
