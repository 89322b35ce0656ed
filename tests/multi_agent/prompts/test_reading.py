"""The context that is read around found passages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from base.tokens import estimate_tokens
from multi_agent.library import Library
from multi_agent.prompts.reading import read_around
from multi_agent.prompts.show_passages import LEFT_OUT
from support.chunks import make_chunk
from vectorstore.models import Chunk, PageSpan, TableHeader

TEXT = "The weather station {} counted {} days of frost, more than in any winter before it."
SIZE = estimate_tokens(TEXT.format("a", 10))


class Shelf:
    """A library that only implements ``around``."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = chunks

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        return [
            each
            for each in self._chunks
            if any(each.document_id == one.document_id and abs(each.index - one.index) <= reach for one in chunks)
        ]


def part(index: int, document: str = "a", station: str = "", **fields: Any) -> Chunk:
    """Return a passage at its place in the document, with a text that depends on the index."""
    text = TEXT.format(station or document, 10 + index)
    start = index * 1000
    chunk = make_chunk(text, document=f"/docs/{document}.md", index=index, **fields)
    return chunk.model_copy(update={"start": start, "end": start + len(text)})


def read(found: Sequence[Chunk], shelf: Sequence[Chunk], tokens: int) -> list[tuple[str, int]]:
    chosen = read_around(found, cast(Library, Shelf(shelf)), tokens)
    return [(chunk.name.removesuffix(".md"), chunk.index) for chunk in chosen]


def on_pages(*numbers: int) -> dict[str, Any]:
    return {"page_spans": tuple(PageSpan(number=number, start=0, end=1) for number in numbers)}


def test_the_rest_of_a_page_is_read_nearest_first() -> None:
    shelf = [part(index, **on_pages(1 if index < 2 else 2)) for index in range(6)]
    assert read([shelf[3]], shelf, 3 * SIZE) == [("a", 3), ("a", 2), ("a", 4)]
    assert read([shelf[3]], shelf, 100 * SIZE) == [("a", 3), ("a", 2), ("a", 4), ("a", 5)]


def test_without_pages_the_rest_of_the_section_is_read() -> None:
    shelf = [part(index, section=("One",) if index < 3 else ("Two",)) for index in range(6)]
    assert read([shelf[2]], shelf, 100 * SIZE) == [("a", 2), ("a", 1), ("a", 0)]


def test_a_table_is_read_over_pages() -> None:
    header = TableHeader(text="| year | days |", start=1000, end=1015)
    shelf = [
        part(0, **on_pages(1)),
        *(part(index, header=header if index > 1 else None, **on_pages(index)) for index in (1, 2, 3)),
        part(4, header=TableHeader(text="| town |", start=4000, end=4008), **on_pages(5)),
    ]
    assert read([shelf[2]], shelf, 100 * SIZE) == [("a", 2), ("a", 1), ("a", 3)]


def test_a_gap_ends_the_context() -> None:
    shelf = [part(index, section=("One",)) for index in (0, 2, 3)]
    assert read([shelf[2]], shelf, 100 * SIZE) == [("a", 3), ("a", 2)]


def test_passages_of_a_newer_version_are_not_mixed_in() -> None:
    old, new = (
        [part(index, section=("One",)).model_copy(update={"version": version}) for index in range(3)]
        for version in ("old", "new")
    )
    assert read([old[1]], new, 100 * SIZE) == [("a", 1)]


def test_found_passages_take_their_share_of_the_budget_first() -> None:
    shelf = [part(index, document, section=("One",)) for document in "abc" for index in range(3)]
    found = [shelf[0], shelf[3], shelf[6]]
    assert read(found, shelf, 4 * SIZE) == [("a", 0), ("a", 1), ("a", 2), ("b", 0)]


def test_what_is_left_goes_to_further_found_passages() -> None:
    found = [part(0, document) for document in "abc"]
    assert read(found, found, 3 * SIZE) == [("a", 0), ("b", 0), ("c", 0)]


def test_a_repeated_text_is_read_once() -> None:
    found = [part(0, "a"), part(0, "b", station="a"), part(1, "b")]
    assert read(found, found, 100 * SIZE) == [("a", 0), ("b", 1)]


def test_of_a_passage_that_could_never_fit_the_beginning_is_read() -> None:
    found = [part(0, "a"), part(1, "b")]
    chunk, *others = read_around(found, cast(Library, Shelf(found)), SIZE // 2)
    assert sum(estimate_tokens(each.text) for each in (chunk, *others)) <= SIZE // 2
    assert TEXT.format("a", 10).startswith(chunk.text)
    assert TEXT.format("a", 10)[len(chunk.text) - 1] == " ", "no word or figure is cut"
    assert (chunk.end - chunk.start, LEFT_OUT in chunk.metadata) == (len(chunk.text), True)
    assert read([], [], 1) == []


def test_a_passage_that_a_copy_of_its_document_contains_is_not_read_again() -> None:
    whole = part(0, "a", "Dale", title="Frost")
    text = TEXT.format("Dale", 10)
    copy = make_chunk(text.partition(",")[0], document="/docs/b.md", title="Frost")
    other = make_chunk(text.partition(" of")[0], document="/docs/c.md", title="Snow")
    assert read([whole, copy, other], [], 100 * SIZE) == [("a", 0), ("c", 0)]
