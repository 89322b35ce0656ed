"""How passages are shown: under where they stand, and what they are part of."""

from __future__ import annotations

import pytest

from multi_agent.prompts.show_passages import (
    best_document_last,
    number_units,
    show_location,
    show_passages,
    show_units,
)
from multi_agent.prompts.show_task import show_task, show_today
from support.chunks import make_chunk
from support.kits import make_context
from vectorstore.models import ChunkKind, PageSpan, SectionStart, TableHeader


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"title": "The Lee House"}, "0042.md (The Lee House)"),
        ({"title": "0042"}, "0042.md"),
        ({"title": "", "section": ("Plan", "Roof")}, "0042.md, Plan › Roof"),
        ({"title": "The Lee House", "section": ("Plan",)}, "0042.md (The Lee House), Plan"),
    ],
)
def test_the_title_is_shown_unless_the_name_contains_it(fields: dict[str, object], shown: str) -> None:
    assert show_location(make_chunk("It has three storeys.", document="/docs/0042.md", **fields)) == shown


def test_a_part_shows_only_its_own_pages() -> None:
    spans = (PageSpan(number=3, start=0, end=5), PageSpan(number=4, start=5, end=9))
    chunk = make_chunk("It stands", page_spans=spans)
    assert (show_location(chunk), show_location(chunk, [4])) == ("a.md, pages 3-4", "a.md, page 4")


def test_sentences_are_numbered_over_all_passages() -> None:
    chunks = [
        make_chunk("It is red. It is big."),
        make_chunk("| a | b |\n| --- | --- |\n| 1 | 2 |", document="/docs/b.md"),
    ]
    assert show_units(number_units(chunks)) == (
        "=== a.md\n[1] It is red.\n[2] It is big.\n\n=== b.md\n[3] | a | b |\n[4] | 1 | 2 |"
    )


def test_a_sentence_of_overlapping_passages_is_shown_once() -> None:
    first = make_chunk("It is red. It is big.")
    second = make_chunk("It is big. It is old.", index=1).model_copy(update={"start": 11, "end": 32})
    assert [unit.text for unit in number_units([first, second])] == ["It is red.", "It is big.", "It is old."]


def test_the_document_of_the_best_passage_comes_last() -> None:
    best = make_chunk("It is red.", document="/docs/b.md", index=3)
    others = [make_chunk("It is old.", document="/docs/a.md"), make_chunk("It is big.", document="/docs/b.md")]
    assert [(chunk.name, chunk.index) for chunk in best_document_last([best, *others])] == [
        ("a.md", 0),
        ("b.md", 0),
        ("b.md", 3),
    ]


def test_titles_and_headings_stand_in_the_line_and_not_among_the_sentences() -> None:
    fields = {"document": "/docs/0042.md", "title": "The Lee House"}
    chunks = [
        make_chunk("The Lee House\nRoof\nIt is flat.", section=("Roof",), **fields),
        make_chunk("It is red.", index=1, section=("The Lee House", "Walls"), **fields),
    ]
    assert show_units(number_units(chunks)) == (
        "=== 0042.md (The Lee House), Roof\n[1] It is flat.\n\n=== 0042.md, Walls\n[2] It is red."
    )
    assert show_passages(chunks[1:]).startswith("=== 0042.md (The Lee House), Walls\n")


def test_each_section_of_a_passage_has_a_line() -> None:
    text = "It is flat.\n\nWalls\n\nThey are red. They are thick."
    walls = (SectionStart(start=text.index("Walls"), path=("Walls",)),)
    chunk = make_chunk(text, section=("Roof",), sections=walls)
    assert show_units(number_units([chunk])) == (
        "=== a.md, Roof\n[1] It is flat.\n\n=== a.md, Walls\n[2] They are red.\n[3] They are thick."
    )


def test_a_passage_of_headings_alone_and_a_heading_as_long_as_a_sentence_are_numbered() -> None:
    assert [unit.text for unit in number_units([make_chunk("Roof", section=("Roof",))])] == ["Roof"]
    long = "The house was built in 1881 by the brothers Lee and Long"
    chunk = make_chunk(f"{long}\n\nIt is red.", section=("History", long))
    assert show_units(number_units([chunk])) == f"=== a.md, History\n[1] {long}\n[2] It is red."


def test_neighbouring_passages_of_one_section_are_one_part_with_its_pages() -> None:
    first = make_chunk("It is red.", page_spans=(PageSpan(number=3, start=0, end=10),))
    second = make_chunk("It is big.", index=1, page_spans=(PageSpan(number=4, start=11, end=21),))
    second = second.model_copy(update={"start": 11, "end": 21})
    far = make_chunk("It is old.", index=5).model_copy(update={"start": 90, "end": 100})
    assert show_units(number_units([first, second, far])) == (
        "=== a.md, pages 3-4\n[1] It is red.\n[2] It is big.\n\n=== a.md\n[3] It is old."
    )


def test_the_header_of_a_table_that_goes_on_is_shown_once() -> None:
    table = make_chunk("| a | b |\n| --- | --- |\n| 1 | 2 |", kind=ChunkKind.TABLE)
    header = TableHeader(text="| a | b |\n| --- | --- |", start=0, end=23)
    rows = [
        make_chunk(f"| {at} | 4 |", index=at, kind=ChunkKind.TABLE, header=header).model_copy(
            update={"start": 20 + 10 * at, "end": 29 + 10 * at}
        )
        for at in (2, 3)
    ]
    assert [unit.text for unit in number_units([table, *rows])] == ["| a | b |", "| 1 | 2 |", "| 2 | 4 |", "| 3 | 4 |"]
    assert [unit.text for unit in number_units(rows)] == ["| a | b |", "| 2 | 4 |", "| 3 | 4 |"]


def test_a_prompt_begins_with_the_day_if_it_is_known() -> None:
    context = make_context("How cold?")
    assert show_today(context) == ""
    assert show_today(context.model_copy(update={"today": "2026-11-22"})) == "Today is 2026-11-22.\n\n"


def test_a_task_shows_only_what_adds_to_the_question() -> None:
    context = make_context("How cold?")
    assert show_task(context, instruction="How cold") == (
        "Asked for: to know\nA complete answer contains:\n- the fact\nQuestion: How cold?"
    )
    assert show_task(context, "How cold is Kiruna?").endswith("Your question, a part of it: How cold is Kiruna?")
