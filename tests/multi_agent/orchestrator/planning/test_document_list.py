"""The list of documents for the planner: all of a few, the nearest of many."""

from __future__ import annotations

from api.services.library import CollectionLibrary
from multi_agent.orchestrator.planning.document_list import list_documents

QUESTION = "How long are the eggs baked, and at what temperature?"


def listed(library: CollectionLibrary, most: int) -> list[str]:
    return list_documents(library, library.catalogue(), QUESTION, most).splitlines()


def test_a_few_documents_are_all_listed(library: CollectionLibrary) -> None:
    assert listed(library, 3) == [
        "3 documents, 3 passages:",
        "- manual.pdf: 1 passages",
        "- recipe.md: 1 passages",
        "- notes.md: 1 passages",
    ]


def test_of_many_documents_the_nearest_are_listed(library: CollectionLibrary) -> None:
    """The first documents by name may have nothing to do with the question."""
    head, *found, others = listed(library, 2)
    assert head == "3 documents, 3 passages. What a search for the question finds, the nearest first:"
    assert found == [f"- {chunk.name}: 1 passages" for chunk in library.search([QUESTION], 2)]
    assert found[0] == "- recipe.md: 1 passages"
    assert others == "- and 1 others, which are searched as well"


def test_no_document_is_listed_with_a_limit_of_zero(library: CollectionLibrary) -> None:
    assert listed(library, 0) == ["3 documents, 3 passages, which are searched but not listed here."]
