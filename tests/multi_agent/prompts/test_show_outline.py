"""Outlines of documents: sections, pages and the parts that were read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from multi_agent.library import CatalogueEntry, Library
from multi_agent.prompts.show_outline import outline, show_read
from support.chunks import make_chunk
from support.kits import make_context
from vectorstore.models import Chunk, PageSpan


def part(index: int, *section: str, page: int = 0, document: str = "report.pdf") -> Chunk:
    spans = (PageSpan(number=page, start=0, end=1),) if page else ()
    return make_chunk(f"Part {index}.", document=f"/docs/{document}", index=index, section=section, page_spans=spans)


REPORT = [
    part(0, page=1),
    part(1, "Business", "Pumps", page=2),
    part(2, "Business", "Pumps", page=3),
    part(3, "Business", "Heat", page=5),
    part(4, "Risks", page=6),
    part(5, "Risks", page=7),
]


class Shelf:
    """A library that only implements ``around``."""

    def around(self, chunks: Sequence[Chunk], reach: int) -> list[Chunk]:
        return [each for each in REPORT if each.name == chunks[0].name]


def test_each_section_shows_its_pages_and_which_were_read() -> None:
    read = {REPORT[0].id, REPORT[2].id}
    assert outline(REPORT, read) == [
        "  - no heading, page 1, read",
        "  - Business › Pumps, pages 2-3, of these read: page 3",
        "  - Business › Heat, page 5, not read",
        "  - Risks, pages 6-7, not read",
    ]


def test_a_section_without_pages_shows_passage_counts() -> None:
    chunks = [part(index, "One") for index in range(4)]
    assert outline(chunks, {chunks[1].id}) == ["  - One, of these read: 1 of 4 passages"]


def test_a_long_outline_has_fewer_levels() -> None:
    chunks = [part(index, f"Chapter {index // 10}", f"Section {index}", page=index + 1) for index in range(60)]
    assert outline(chunks, {chunks[0].id})[0] == "  - Chapter 0, pages 1-10, of these read: page 1"
    assert len(outline(chunks, set())) == 6
    flat = [part(index, f"Section {index}", page=index + 1) for index in range(60)]
    assert outline(flat, {flat[4].id, flat[5].id}) == ["  - no heading, pages 1-60, of these read: pages 5-6"]


def test_partly_read_documents_have_an_outline() -> None:
    other = part(0, document="notes.md")
    context = make_context().model_copy(update={"chunks": (REPORT[1], REPORT[2], other)})
    catalogue = [
        CatalogueEntry(name="report.pdf", id="1", chunks=60),
        CatalogueEntry(name="notes.md", id="2", chunks=3),
        CatalogueEntry(name="unread.md", id="3", chunks=9),
    ]
    lines = show_read(context, catalogue, cast(Library, Shelf())).splitlines()
    assert lines[0] == "- notes.md: 1 of 3 passages"
    assert lines[1] == "- report.pdf: 2 of 60 passages"
    assert "  - Business › Pumps, pages 2-3, read" in lines
    assert not any("unread.md" in line for line in lines)
