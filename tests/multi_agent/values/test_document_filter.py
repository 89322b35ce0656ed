"""Which documents a filter chooses, and how it names the condition that none of them meets."""

from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from multi_agent.errors import NoDocumentMatches
from multi_agent.library import CatalogueEntry
from multi_agent.values.request import DocumentFilter, Selection
from vectorstore.models import FieldValue


def document(path: str, name: str, dated: str, *tags: str, **metadata: FieldValue) -> CatalogueEntry:
    return CatalogueEntry(
        name=name, id=path, chunks=1, path=path, type=name.rpartition(".")[2].lower(), tags=tags,
        dated=date.fromisoformat(dated), metadata=metadata,
    )  # fmt: skip


CATALOGUE = (
    document(
        "/srv/Tax Papers/2023/return.pdf", "2023/return.pdf", "2023-12-31", "taxes", "done", year=2023, project="Orion"
    ),
    document(
        "/srv/Tax Papers/2024/return.PDF", "2024/return.PDF", "2024-12-31", "taxes", year=2024, room=("K 1", "K 2")
    ),
    document(
        "/home/me/notes/[draft] pumps.md",
        "[draft] pumps.md",
        "2024-06-01",
        created_at="2024-05-20T10:00:00Z",
        cost=80.5,
    ),
)
FIRST, SECOND, NOTES = (entry.id for entry in CATALOGUE)


@pytest.mark.parametrize(
    ("wanted", "chosen"),
    [
        ({}, (FIRST, SECOND, NOTES)),
        ({"documents": ("return.pdf",)}, (FIRST, SECOND)),
        ({"documents": ("2023/*",)}, (FIRST,)),
        ({"documents": ("2023/*", "[draft] PUMPS.md")}, (FIRST, NOTES)),
        ({"documents": ("*.md",)}, (NOTES,)),
        ({"folder": "/srv/Tax Papers"}, (FIRST, SECOND)),
        ({"folder": "tax papers/2024/"}, (SECOND,)),
        ({"folder": "2023"}, (FIRST,)),
        ({"type": ("pdf",)}, (FIRST, SECOND)),
        ({"type": (".MD", "docx")}, (NOTES,)),
        ({"since": "2024-06-01"}, (SECOND, NOTES)),
        ({"tags": ("Taxes",)}, (FIRST, SECOND)),
        ({"tags": ("taxes", "done")}, (FIRST,)),
        ({"type": ("pdf",), "since": "2024-01-01"}, (SECOND,)),
        ({"where": {"Project": " orion"}}, (FIRST,)),
        ({"where": {"year": 2024}}, (SECOND,)),
        ({"where": {"year": "2024", "room": "k 2"}}, (SECOND,)),
        ({"where": {"room": ("K 1", "K 2")}}, (SECOND,)),
        ({"where": {"cost": "80.5"}}, (NOTES,)),
        ({"where": {"created_at": "2024-05"}}, (NOTES,)),
        ({"where": {"created_at": "2024-05-20"}}, (NOTES,)),
    ],
)
def test_a_document_meets_every_condition(wanted: dict[str, Any], chosen: tuple[str, ...]) -> None:
    assert tuple(each.id for each in DocumentFilter(**wanted).choose(CATALOGUE, "papers")) == chosen


@pytest.mark.parametrize(
    ("wanted", "says"),
    [
        (
            {"documents": ("bill*",)},
            "'document bill*'. Values in the collection: 2023/return.pdf, 2024/return.PDF, [draft] pumps.md.",
        ),
        ({"where": {"project": "Vega"}}, "'project=Vega'. Values in the collection: Orion."),
        ({"where": {"project": "Ori"}}, "'project=Ori'. Values in the collection: Orion."),
        (
            {"where": {"nope": 1}},
            "'nope=1'. No document has the field 'nope'. The fields are: cost, created_at, project, room, year.",
        ),
        ({"folder": "/srv/Tax"}, "'folder /srv/Tax'. Values in the collection: 2023, 2024, notes."),
        ({"type": ("docx", "odt")}, "'type docx or odt'. Values in the collection: md, pdf."),
        ({"since": "2025-01-01"}, "'since 2025-01-01'. Values in the collection: 2023-12-31, 2024-06-01, 2024-12-31."),
        ({"type": ("pdf",), "tags": ("tax",)}, "'tag tax'. Values in the collection: done, taxes."),
        ({"type": ("md",), "tags": ("done",)}, "meets all conditions: type md, tag done."),
    ],
)
def test_a_filter_without_documents_names_the_condition(wanted: dict[str, Any], says: str) -> None:
    with pytest.raises(NoDocumentMatches) as refused:
        DocumentFilter(**wanted).choose(CATALOGUE, "papers")
    assert says in str(refused.value)


@pytest.mark.parametrize(("written", "day"), [("2024", date(2024, 1, 1)), ("2024-05", date(2024, 5, 1))])
def test_a_year_or_a_month_begins_with_its_first_day(written: str, day: date) -> None:
    assert DocumentFilter.model_validate({"since": written}).since == day


def test_documents_without_tags_leave_nothing_to_choose_from() -> None:
    with pytest.raises(NoDocumentMatches, match="There are no values"):
        DocumentFilter(tags=("taxes",)).choose(CATALOGUE[2:], "papers")


def test_a_selection_is_shown_in_words() -> None:
    wanted = DocumentFilter(folder="2024", tags=("taxes",))
    assert str(Selection(filter=wanted, documents=3, total=12)) == "3 of 12 documents (folder 2024, tag taxes)"
    assert DocumentFilter().is_empty
    assert not wanted.is_empty
