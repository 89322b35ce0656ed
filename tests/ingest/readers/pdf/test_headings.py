"""Headings of PDFs: the evidence for them, and texts that only look like headings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ingest.chunking.chunker import Chunker, Source
from ingest.chunking.segments import Outline
from ingest.document import BlockKind, ParsedDocument
from ingest.parser import Parser, load_parser
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk

LEFT, TOP = 20.0, 40.0
WORDS = ["amber", "basalt", "cedar", "dune", "ember", "fjord", "garnet", "heath", "island", "juniper", "kelp", "lagoon"]


@dataclass(frozen=True)
class Text:
    """A line of text. ``x`` and ``y`` are in millimetres from the top left corner, ``style`` combines B, I and U."""

    x: float
    y: float
    text: str
    style: str = ""
    size: float = 11
    colour: tuple[int, int, int] = (0, 0, 0)
    angle: float = 0


Page = Sequence[Text]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def write(path: Path, pages: Sequence[Page], outline: Sequence[tuple[int, str]] = ()) -> Path:
    """Write a PDF with these pages. ``outline`` has the page and title of each bookmark."""
    from fpdf import FPDF

    pdf = FPDF()
    for number, page in enumerate(pages, start=1):
        pdf.add_page()
        for _, title in (bookmark for bookmark in outline if bookmark[0] == number):
            pdf.start_section(title)
        for text in page:
            pdf.set_font("Helvetica", text.style, text.size)
            pdf.set_text_color(*text.colour)
            with pdf.rotation(text.angle, x=text.x, y=text.y):
                pdf.text(text.x, text.y, text.text)
            if "U" in text.style:
                pdf.line(text.x, text.y + 0.5, text.x + pdf.get_string_width(text.text), text.y + 0.5)
    pdf.output(str(path))
    return path


def body(page: int, y: float = TOP, lines: int = 6, size: float = 11) -> list[Text]:
    """Return the lines of a paragraph that differs from page to page."""
    texts = (f"The {word} of the {WORDS[page]} lies beside the {word} river in the north." for word in WORDS[:lines])
    return [Text(LEFT, y + 5 * number, text, size=size) for number, text in enumerate(texts)]


def sections(heading: Text, count: int = 5) -> list[list[Text]]:
    """Return pages with a paragraph, a heading such as "Amber rules", and another paragraph."""
    return [
        [
            *body(page),
            replace(heading, x=LEFT, y=TOP + 40, text=heading.text.format(WORDS[page].title(), page + 4)),
            *body(page, TOP + 48),
        ]
        for page in range(count)
    ]


def headings(document: ParsedDocument) -> list[str]:
    return [document.text[block.start : block.end] for block in document.blocks if block.kind is BlockKind.HEADING]


def read(parser: Parser, tmp_path: Path, pages: Sequence[Page], outline: Sequence[tuple[int, str]] = ()) -> list[str]:
    return headings(parser.parse(write(tmp_path / "a.pdf", pages, outline)))


# Evidence for a heading


@pytest.mark.parametrize(
    "heading",
    [
        pytest.param(Text(0, 0, "{} rules", size=14), id="larger"),
        pytest.param(Text(0, 0, "{} rules", style="B"), id="bold"),
        pytest.param(Text(0, 0, "{} rules", style="B", size=10), id="bold, smaller"),
        pytest.param(Text(0, 0, "{} rules", style="I"), id="italic"),
        pytest.param(Text(0, 0, "{} rules", style="U"), id="underlined"),
        pytest.param(Text(0, 0, "{} rules", colour=(0, 80, 160)), id="coloured"),
    ],
)
def test_a_style_that_recurs_above_text_is_evidence(parser: Parser, tmp_path: Path, heading: Text) -> None:
    assert read(parser, tmp_path, sections(heading)) == [f"{word.title()} rules" for word in WORDS[:5]]


@pytest.mark.parametrize("size", [11, 8])
def test_ascending_numbers_are_evidence(parser: Parser, tmp_path: Path, size: float) -> None:
    assert read(parser, tmp_path, sections(Text(0, 0, "Nota {1} {0}", size=size))) == [
        f"Nota {page + 4} {WORDS[page].title()}" for page in range(5)
    ]
    pages = sections(Text(0, 0, "Nota {1} {0}"))
    assert read(parser, tmp_path, [pages[index] for index in (4, 2, 3, 1, 0)]) == []


def test_a_number_before_a_wide_gap_belongs_to_the_heading(parser: Parser, tmp_path: Path) -> None:
    pages = [
        [*body(page), Text(LEFT, 80, f"{page + 1}.1", "B"), Text(45, 80, f"{WORDS[page]} rules", "B"), *body(page, 88)]
        for page in range(5)
    ]
    assert read(parser, tmp_path, pages) == [f"{page + 1}.1 {WORDS[page]} rules" for page in range(5)]


def test_an_outline_entry_is_evidence_on_its_page(parser: Parser, tmp_path: Path) -> None:
    pages = [[*body(page), Text(LEFT, 80, "Cedar rules"), *body(page, 88)] for page in range(5)]
    assert read(parser, tmp_path, pages, outline=[(3, "CEDAR rules")]) == ["Cedar rules"]


def test_a_page_in_small_type_has_its_own_text_size(parser: Parser, tmp_path: Path) -> None:
    small = [[*body(0, size=8), Text(LEFT, 80, "Amber rules", "B", 8), *body(0, 88, size=8)]]
    assert "Amber rules" in read(parser, tmp_path, [*sections(Text(0, 0, "{} rules", "B"))[1:], *small])


def test_a_heading_style_need_not_recur_in_a_short_document(parser: Parser, tmp_path: Path) -> None:
    pages = [
        [
            Text(LEFT, 20, "Amber", size=18),
            Text(LEFT, 30, "by Fjord"),
            *body(0),
            Text(LEFT, 80, "Dune", "B"),
            *body(0, 88),
        ]
    ]
    assert read(parser, tmp_path, pages) == ["Amber", "Dune"]


def test_a_heading_above_a_chart_needs_its_look_above_text_on_three_pages(parser: Parser, tmp_path: Path) -> None:
    chart = Text(LEFT, TOP + 100, "Rainfall by month", "B")
    pages = sections(Text(0, 0, "{} rules", "B"), 3)
    assert read(parser, tmp_path, [*pages[:2], [*pages[2], chart]])[-1] == chart.text
    assert chart.text not in read(parser, tmp_path, [pages[0], [*pages[1], chart]])
    assert chart.text not in read(parser, tmp_path, [*pages, [*body(3), chart]]), "its page has no heading above text"


# Text that is not a heading

PLAIN = [body(page) for page in range(1, 8)]


def test_the_title_on_the_cover_is_a_heading_and_a_slogan_is_not(
    parser: Parser, tmp_path: Path, embedder: Embedder
) -> None:
    cover = [Text(50, 80, "Amber Harbour", "B", 30), Text(50, 140, "Rivers for everyone", "B", 30)]
    pages = [
        cover,
        *([*page, Text(LEFT, 70, f"So Amber Harbour has a {WORDS[index]}.")] for index, page in enumerate(PLAIN)),
    ]
    document = parser.parse(write(tmp_path / "a.pdf", pages))
    assert headings(document) == ["Amber Harbour"]
    assert not any("everyone" in name for chunk in chunks(document, embedder) for name in chunk.section)


def test_large_figures_and_their_captions_are_not_headings(parser: Parser, tmp_path: Path) -> None:
    pages = sections(Text(0, 0, "{} rules", "B", 14))
    key_figures = [
        text
        for row in range(4)
        for text in (
            Text(LEFT, 60 + 30 * row, f"£{row + 3}0.6m", "B", 30),
            Text(LEFT, 66 + 30 * row, "Net assets", "B", 14),
            Text(LEFT, 71 + 30 * row, "2021: £19.2m"),
        )
    ]
    found = read(parser, tmp_path, [*pages[:3], key_figures, *pages[3:]])
    assert found == [f"{word.title()} rules" for word in WORDS[:5]]


def test_words_of_a_word_cloud_are_not_headings(parser: Parser, tmp_path: Path) -> None:
    cloud = [
        Text(20 + 20 * (number % 4), 50 + 18 * number, word.title(), "B", 12 + 3 * number)
        for number, word in enumerate(WORDS)
    ]
    assert read(parser, tmp_path, [*PLAIN[:2], cloud, *PLAIN[2:]]) == []


def test_column_heads_are_not_headings(parser: Parser, tmp_path: Path) -> None:
    rows = [
        Text(x, 100 + 6 * row, f"{row + 2},{x}04" if x > 90 else f"{WORDS[row]} harbour")
        for row in range(5)
        for x in (20, 100, 150)
    ]
    heads = [Text(x, y, text, "B") for x, y, text in ((98, 85, "Salary"), (98, 91, "(euro)"), (150, 91, "Bonus"))]
    pages = sections(Text(0, 0, "{} rules", "B"))
    pages[2] += [*heads, *rows]
    pages[2] = [text for text in pages[2] if text.y < 76 or text in heads or text in rows]
    found = read(parser, tmp_path, pages)
    assert set(found) <= {f"{word.title()} rules" for word in WORDS[:5]}


def test_a_numbered_caption_applies_to_its_table_only(parser: Parser, tmp_path: Path) -> None:
    def rows(page: int) -> list[Text]:
        cells = {20: "{} harbour", 100: "{}04", 150: "{}17"}
        return [
            Text(x, 80 + 6 * row, cell.format(WORDS[row].title() if x == LEFT else f"{page + row + 2},"))
            for row in range(5)
            for x, cell in cells.items()
        ]

    pages = [
        [*body(page), Text(LEFT, 73, f"Table {page + 1} {WORDS[page].title()}", "B"), *rows(page), *body(page, 115)]
        for page in range(5)
    ]
    document = parser.parse(write(tmp_path / "a.pdf", pages))
    captions = [f"Table {page + 1} {WORDS[page].title()}" for page in range(5)]
    assert headings(document) == captions
    outline = Outline(lambda texts: [len(text.split()) for text in texts], 200, document, "report.pdf")
    paths = [(block.kind, section) for block, section in outline.sections()]
    assert {section for kind, section in paths if kind is BlockKind.TABLE} == {(caption,) for caption in captions}
    assert {section for kind, section in paths if kind is BlockKind.PROSE} == {()}


def test_an_emphasised_sentence_is_not_a_heading(parser: Parser, tmp_path: Path) -> None:
    assert read(parser, tmp_path, sections(Text(0, 0, "The {} is closed in winter.", "B"))) == []


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("({} in thousands, except per", id="unit of two lines"),
        pytest.param("({} in thousands)", id="unit"),
        pytest.param("{} SHARES 3.13%", id="share"),
        pytest.param("{} sales $", id="currency"),
        pytest.param("- {} rules of the valley", id="item of a list"),
    ],
)
def test_a_unit_a_figure_and_an_item_are_not_headings(parser: Parser, tmp_path: Path, text: str) -> None:
    assert read(parser, tmp_path, sections(Text(0, 0, text, "B"))) == []


@pytest.mark.parametrize("angle", [90, 45])
def test_a_rotated_watermark_on_every_page_is_kept_once(parser: Parser, tmp_path: Path, angle: float) -> None:
    mark = Text(190, 150, "DRAFT", "B", 40, angle=angle)
    document = parser.parse(write(tmp_path / "a.pdf", [[*page, mark] for page in PLAIN]))
    assert (document.text.count("DRAFT"), headings(document)) == (1, [])


def test_a_light_watermark_is_kept_once(parser: Parser, tmp_path: Path) -> None:
    mark = Text(60, 150, "Confidential", size=11, colour=(210, 210, 210))
    document = parser.parse(write(tmp_path / "a.pdf", [[*page, mark] for page in PLAIN]))
    assert document.text.count("Confidential") == 1


def test_text_outside_the_crop_box_is_omitted(parser: Parser, tmp_path: Path) -> None:
    from pypdfium2 import PdfDocument

    pages = [[*body(0), Text(LEFT, 250, "Text of the neighbouring page")], body(1)]
    document = PdfDocument(write(tmp_path / "whole.pdf", pages))
    document[0].set_cropbox(0, 300, 595, 842)
    document.save(tmp_path / "cut.pdf")
    text = parser.parse(tmp_path / "cut.pdf").text
    assert "neighbouring" not in text
    assert text.count("amber river") == 2


# The outline


def paths(document: ParsedDocument) -> list[tuple[str, ...]]:
    """Return the headings above each paragraph, without repetitions."""
    outline = Outline(lambda texts: [len(text.split()) for text in texts], 200, document, "report.pdf")
    return list(dict.fromkeys(section for block, section in outline.sections() if block.kind is BlockKind.PROSE))


def parts(count: int) -> list[list[Text]]:
    """Return pages with a bold heading between two paragraphs."""
    return [
        [*body(number % 9), Text(LEFT, 80, f"Part {number} rules", "B"), *body(number % 9, 88)]
        for number in range(1, count + 1)
    ]


def test_a_heading_above_most_of_a_long_report_does_not_contain_it(parser: Parser, tmp_path: Path) -> None:
    form = [[Text(LEFT, 20, f"Form {word}", size=20), *body(page)] for page, word in enumerate(WORDS[:3])]
    found = paths(parser.parse(write(tmp_path / "a.pdf", [*form, *parts(40)])))
    assert found == [*((f"Form {word}",) for word in WORDS[:3]), *((f"Part {page} rules",) for page in range(1, 41))]


def test_a_few_large_headings_contain_the_sections_of_a_short_document(parser: Parser, tmp_path: Path) -> None:
    chapters = [[Text(LEFT, 20, f"Chapter {word}", size=20), *body(0, 30), *parts(1)[0]] for word in ("one", "two")]
    found = paths(parser.parse(write(tmp_path / "a.pdf", chapters)))
    assert ("Chapter two", "Part 1 rules") in found


@pytest.mark.parametrize("bookmarks", [True, False])
def test_headings_that_the_document_lists_contain_the_others(parser: Parser, tmp_path: Path, bookmarks: bool) -> None:
    pages = [body(9)] if bookmarks else [[Text(LEFT, 20, "Page"), *contents("....")]]
    marks: list[tuple[int, str]] = []
    for number, word in enumerate(WORDS):
        listed, other = Text(LEFT, 25, f"{word.title()} rules", "B"), Text(LEFT, 80, f"More {word}", "B")
        pages += [[listed, *body(number % 9), other, *body(number % 9, 90)], body(number % 9)]
        marks += [(2 + 2 * number, listed.text)] if bookmarks else []
    found = paths(parser.parse(write(tmp_path / "a.pdf", pages, marks)))
    expected = [
        path for word in WORDS for path in ((f"{word.title()} rules",), (f"{word.title()} rules", f"More {word}"))
    ]
    assert [path for path in found if path] == expected


def test_a_less_prominent_look_directly_above_another_contains_it(parser: Parser, tmp_path: Path) -> None:
    pages = [
        [
            Text(LEFT, 20, f"{word.title()} notes", "U"),
            Text(LEFT, 30, f"Part {word}", "B"),
            *body(number),
            *body(number, 90),
        ]
        for number, word in enumerate(WORDS[:5])
    ]
    found = paths(parser.parse(write(tmp_path / "a.pdf", pages)))
    assert found == [(f"{word.title()} notes", f"Part {word}") for word in WORDS[:5]]


# Tables of contents and dot leaders


def contents(leader: str) -> list[Text]:
    """Return a table of contents with this leader."""
    entries = (f"{word.title()} rules {leader} {number * 2 + 1}" for number, word in enumerate(WORDS))
    return [Text(LEFT, TOP + 8 * number, entry) for number, entry in enumerate(entries)]


def chunks(document: ParsedDocument, embedder: Embedder) -> list[Chunk]:
    source = Source(document_id="id", path="/docs/a.pdf", name="a.pdf", version="0" * 64)
    found = Chunker(embedder.count_tokens, 254).chunk(document, source)
    assert all(document.text[chunk.start : chunk.end] == chunk.text for chunk in found)
    return found


@pytest.mark.parametrize("leader", [". . . . . . . .", ".........", "", "·····"])
def test_a_table_of_contents_is_parsed_without_leaders_and_not_indexed(
    parser: Parser, tmp_path: Path, embedder: Embedder, leader: str
) -> None:
    pages = [body(0, lines=2), [Text(LEFT, 20, "Contents", size=16), *contents(leader)], *PLAIN * 2]
    document = parser.parse(write(tmp_path / "a.pdf", pages))
    (block,) = [block for block in document.blocks if block.kind is BlockKind.CONTENTS]
    assert document.text[block.start : block.end].splitlines()[:2] == ["Amber rules 1", "Basalt rules 3"]
    assert not any("rules" in chunk.text for chunk in chunks(document, embedder))
    assert chunks(document, embedder)[0].text.startswith("The amber of the amber lies")


def test_a_table_after_a_table_of_contents_is_found(parser: Parser, tmp_path: Path) -> None:
    rows = [Text(x, TOP + 8 * row, f"{row + 2},{x}04") for row in range(5) for x in (100, 150)]
    rows += [Text(LEFT, TOP + 8 * row, f"{WORDS[row].title()} harbour") for row in range(5)]
    document = parser.parse(write(tmp_path / "a.pdf", [contents("....."), *PLAIN, rows]))
    kinds = [block.kind for block in document.blocks]
    assert kinds.index(BlockKind.CONTENTS) < kinds.index(BlockKind.TABLE)


def test_a_document_with_only_a_table_of_contents_is_indexed(
    parser: Parser, tmp_path: Path, embedder: Embedder
) -> None:
    document = parser.parse(write(tmp_path / "a.pdf", [contents("....."), *[[]] * 20]))
    assert "Basalt rules 3" in chunks(document, embedder)[0].text


def test_dots_without_a_value_after_them_are_kept(parser: Parser, tmp_path: Path) -> None:
    pages = [[*body(0), Text(LEFT, 90, "Your name: .........."), Text(LEFT, 100, "Rent ........ 1,204")]]
    text = parser.parse(write(tmp_path / "a.pdf", pages)).text
    assert "Your name: .........." in text
    assert "Rent 1,204" in text
