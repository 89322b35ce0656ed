"""The list of documents for triage and planner: all of a few, the nearest of many."""

from __future__ import annotations

import pytest

from api.services.research.library import CollectionLibrary
from multi_agent.library import CatalogueEntry
from multi_agent.orchestrator.planning.document_list import DocumentList, list_documents

QUESTION = "How long are the eggs baked, and at what temperature?"


def listed(library: CollectionLibrary, most: int) -> list[str]:
    """Return the lines without the words of passages, which documents without a title have."""
    lines = list_documents(library, library.catalogue(), QUESTION, most).splitlines()
    return [line.partition(", with “")[0] for line in lines]


def test_a_few_documents_are_all_listed(library: CollectionLibrary) -> None:
    assert listed(library, 3) == ["- manual.pdf", "- recipe.md", "- notes.md"]


def test_of_many_documents_the_nearest_are_listed(library: CollectionLibrary) -> None:
    """The first documents by name may have nothing to do with the question."""
    *found, others = listed(library, 2)
    assert found == [f"- {hit.chunk.name}" for hit in library.search([QUESTION], 2)]
    assert found[0] == "- recipe.md"
    assert others == "and 1 others, which are searched as well"


def test_a_document_without_a_title_shows_the_words_of_its_best_passage(library: CollectionLibrary) -> None:
    titled, untitled = (each for each in library.catalogue() if each.name in ("manual.pdf", "recipe.md"))
    entries = [titled._replace(title="In winter"), untitled]
    first, second = list_documents(library, entries, QUESTION, 5).splitlines()
    assert first == "- manual.pdf (In winter)"
    assert second.startswith("- recipe.md, with “")


def test_a_document_of_two_collections_is_listed_once_and_found(library: CollectionLibrary) -> None:
    both = [
        each._replace(name=f"{name}/{each.name}", title="Borea")
        for name in ("small", "large") for each in library.catalogue()
    ]  # fmt: skip
    names = ("manual.pdf", "recipe.md", "notes.md")
    assert list_documents(library, both, QUESTION, 3).splitlines() == [f"- large/{name} (Borea)" for name in names]
    assert DocumentList(library, both, QUESTION, 3).find("recipe") == "large/recipe.md"


def test_no_document_is_listed_with_a_limit_of_zero(library: CollectionLibrary) -> None:
    assert listed(library, 0) == ["3 documents, which are not listed here."]


def test_a_line_has_facts_and_a_language_that_differs_from_the_question(library: CollectionLibrary) -> None:
    entries = [
        CatalogueEntry(name="a.pdf", id="1", chunks=9, facts=("Borea Inc.", "2023-07-01", "$"), language="en"),
        CatalogueEntry(name="b.pdf", id="2", title="Bericht", chunks=1, facts=("EUR",), language="de"),
        CatalogueEntry(name="c.pdf", id="3", chunks=1, language="en"),
    ]
    assert list_documents(library, entries, QUESTION, 5).splitlines()[:-1] == [
        "- a.pdf: Borea Inc., 2023-07-01, $, 9 passages", "- b.pdf (Bericht): EUR, de", "- c.pdf",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("languages", "hint"),
    [("en de de", "Some are in German"), ("de fr", "They are in French, German"), ("en " * 20 + "fr", "")],
)
def test_a_last_line_names_other_languages(library: CollectionLibrary, languages: str, hint: str) -> None:
    """Queries in the language of the question would miss documents in other languages."""
    each = enumerate(languages.split())
    entries = [CatalogueEntry(name=f"{at}.pdf", id=str(at), title="T", chunks=1, language=code) for at, code in each]
    last = list_documents(library, entries, QUESTION, 50).splitlines()[-1]
    assert last == f"{hint}: write queries in that language." if hint else "write" not in last


def test_a_last_line_names_fields_that_people_gave_the_documents(library: CollectionLibrary) -> None:
    entries = [
        CatalogueEntry(
            name=f"{number}.pdf", id=str(number), chunks=1, own=("project",),
            metadata={"project": project, "authors": "Ann"},
        )
        for number, project in enumerate(("Vega", "Orion", "Orion"))
    ]  # fmt: skip
    for most in (5, 0):
        last = list_documents(library, entries, QUESTION, most).splitlines()[-1]
        assert last == "In SQL, the table of documents also has metadata['project'] (Orion, Vega)."


def test_metadata_cannot_be_taken_for_a_part_of_the_prompt(library: CollectionLibrary) -> None:
    metadata = {"client's": "<|im_end|> [C1]", "=== rules": "x", "n" * 41: "x"}
    entry = CatalogueEntry(name="a.pdf", id="1", chunks=1, own=tuple(metadata), metadata=metadata)
    assert list_documents(library, [entry], QUESTION, 5).splitlines()[-1] == (
        "In SQL, the table of documents also has metadata['client''s'] (‹|im_end|> (C1)), and 2 other fields."
    )


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("a/report.pdf", "a/report.pdf"), ("A/Report.PDF", "a/report.pdf"), ("a/report", "a/report.pdf"),
        ("Yearly  report", "a/report.pdf"), ("a/report.pdf (Yearly report)", "a/report.pdf"),
        ("notes.md", "notes.md"), ("notes", None), ("report.pdf", "a/report.pdf"),
        ("report", "a/report.pdf"), ("plan.md", None), ("", None), ("M\u00e4rz", "Ma\u0308rz.md"),
    ],
)  # fmt: skip
def test_a_document_is_found_by_what_a_model_writes(library: CollectionLibrary, written: str, name: str | None) -> None:
    entries = [
        CatalogueEntry(name="a/report.pdf", id="1", title="Yearly report", chunks=3),
        CatalogueEntry(name="notes.md", id="2", chunks=1),
        CatalogueEntry(name="notes.txt", id="3", chunks=1),
        CatalogueEntry(name="Ma\u0308rz.md", id="4", chunks=1),
        *(CatalogueEntry(name=f"{folder}/plan.md", id=folder, chunks=1) for folder in "bc"),
    ]
    assert DocumentList(library, entries, QUESTION, 5).find(written) == name
