"""The documents of a run as triage, planner and reviser see them: a short list, and names that a model may misspell."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from multi_agent.library import CatalogueEntry, Library
from multi_agent.prompts.show_passages import titled


class DocumentList:
    """The documents of one run. The list is computed once, so that all prompts of a run show the same."""

    def __init__(self, library: Library, catalogue: Sequence[CatalogueEntry], question: str, most: int) -> None:
        self._library, self._catalogue, self._question, self._most = library, catalogue, question, most
        self._text = ""
        self.names = frozenset(entry.name for entry in catalogue)

    async def text(self) -> str:
        """Return the list for a prompt. Raises StoreError."""
        self._text = self._text or await asyncio.to_thread(
            list_documents, self._library, self._catalogue, self._question, self._most
        )
        return self._text

    def find(self, written: str) -> str | None:
        """Return the name of the one document that ``written`` means; None if there is none, or more than one.

        It may be the name in another case or without its suffix, the title, or both as the list prints them.
        """
        if written in self.names:
            return written
        folded = _folded(written)
        meant = {entry.name for entry in self._catalogue if folded in map(_folded, _spellings(entry))}
        return meant.pop() if len(meant) == 1 else None


def list_documents(library: Library, catalogue: Sequence[CatalogueEntry], question: str, most: int) -> str:
    """List up to ``most`` documents; with more, those of the ``most`` best passages for the question. Blocks.

    Raises StoreError.
    """
    if len(catalogue) <= most:
        return "\n".join(map(_describe, catalogue))
    nearest = _nearest(library, catalogue, question, most)
    if not nearest:
        return f"{len(catalogue)} documents, which are not listed here."
    others = f"and {len(catalogue) - len(nearest)} others, which are searched as well"
    return "\n".join([*nearest, others])


def _nearest(library: Library, catalogue: Sequence[CatalogueEntry], question: str, passages: int) -> list[str]:
    found = library.search([question], passages) if passages else []
    entries = {entry.id: entry for entry in catalogue}  # lacks documents ingested after the run started
    ids = dict.fromkeys(chunk.document_id for chunk in found if chunk.document_id in entries)
    return [_describe(entries[document_id]) for document_id in ids]


def _describe(entry: CatalogueEntry) -> str:
    size = f", {entry.chunks} passages" if entry.chunks > 1 else ""
    return f"- {titled(entry.name, entry.title)}{size}"


def _spellings(entry: CatalogueEntry) -> Iterator[str]:
    yield entry.name
    yield entry.name.rpartition(".")[0]
    if entry.title:
        yield entry.title
        yield f"{entry.name} ({entry.title})"


def _folded(text: str) -> str:
    return " ".join(text.casefold().split())
