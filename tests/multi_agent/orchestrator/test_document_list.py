"""What the planner is told of the documents: all of a few, of many those that the question leads to."""

from __future__ import annotations

from api.services.library import CollectionLibrary
from multi_agent.orchestrator.document_list import list_documents

QUESTION = "How long are the eggs baked, and at what temperature?"


def listed(library: CollectionLibrary, most: int) -> list[str]:
    return list_documents(library, library.catalogue(), QUESTION, most).splitlines()


def test_of_a_few_documents_all_are_listed(library: CollectionLibrary) -> None:
    assert listed(library, 3) == [
        "3 documents, 3 passages:",
        "- manual.pdf: 1 passages",
        "- recipe.md: 1 passages",
        "- notes.md: 1 passages",
    ]


def test_of_many_those_are_that_a_search_for_the_question_finds_the_nearest_first(library: CollectionLibrary) -> None:
    """By name, the first sixty of a thousand have nothing to do with it."""
    head, *found, others = listed(library, 2)
    assert head == "3 documents, 3 passages. What a search for the question finds, the nearest first:"
    assert found == [f"- {chunk.name}: 1 passages" for chunk in library.search([QUESTION], 2)]
    assert found[0] == "- recipe.md: 1 passages"
    assert others == "- and 1 others, which are searched as well"


def test_none_is_listed_where_none_is_to_be(library: CollectionLibrary) -> None:
    assert listed(library, 0) == ["3 documents, 3 passages, which are searched but not listed here."]
