"""The list of documents in the planner's prompt: all of a few, or those nearest to the question."""

from __future__ import annotations

from collections.abc import Sequence

from multi_agent.library import CatalogueEntry, Library


def list_documents(library: Library, catalogue: Sequence[CatalogueEntry], question: str, most: int) -> str:
    """List up to ``most`` documents; with more, those of the ``most`` best passages for the question. Blocks.

    Raises StoreError.
    """
    size = f"{len(catalogue)} documents, {sum(entry.chunks for entry in catalogue)} passages"
    if len(catalogue) <= most:
        return "\n".join([f"{size}:", *map(_describe, catalogue)])
    nearest = _nearest(library, catalogue, question, most)
    if not nearest:
        return f"{size}, which are searched but not listed here."
    others = f"- and {len(catalogue) - len(nearest)} others, which are searched as well"
    return "\n".join([f"{size}. What a search for the question finds, the nearest first:", *nearest, others])


def _nearest(library: Library, catalogue: Sequence[CatalogueEntry], question: str, passages: int) -> list[str]:
    found = library.search([question], passages) if passages else []
    entries = {entry.id: entry for entry in catalogue}  # lacks documents ingested after the run started
    ids = dict.fromkeys(chunk.document_id for chunk in found if chunk.document_id in entries)
    return [_describe(entries[document_id]) for document_id in ids]


def _describe(entry: CatalogueEntry) -> str:
    title = f" ({entry.title})" if entry.title else ""
    return f"- {entry.name}{title}: {entry.chunks} passages"
