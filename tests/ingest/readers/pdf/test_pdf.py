"""The layout of PDFs: text across pages, page headers, and the rows and columns of tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from ingest.document import BlockKind, ParsedDocument
from ingest.parser import Parser, load_parser
from ingest.readers.pdf import lines

Placed = tuple[float, float, str]
"""A text and its position on the page, in millimetres from the top left corner."""

Row = tuple[float, list[Placed]]
"""The height of a row, and its texts with their positions in it."""

LEFT, TOP, BOTTOM = 20, 40, 240
WORDS = ["amber", "basalt", "cedar", "dune", "ember", "fjord", "garnet", "heath"]
WORDS += ["island", "juniper", "kelp", "lagoon", "meadow", "nickel", "onyx", "pebble"]


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def write_pages(path: Path, pages: Sequence[Sequence[Placed]]) -> Path:
    """Write a PDF with exactly these texts on its pages."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    for texts in pages:
        pdf.add_page()
        for x, y, text in texts:
            pdf.text(x, y, text)
    pdf.output(str(path))
    return path


def body(page: int, *, first: str = "", last: str = "") -> list[Placed]:
    """Return a paragraph that is different on each page, optionally with a given first and last line."""
    lines = [f"The {word} of page {WORDS[page]} lies beside the {word} river in the north." for word in WORDS[:8]]
    lines[0], lines[-1] = first or lines[0], last or lines[-1]
    return [(LEFT, TOP + 5 * number, line) for number, line in enumerate(lines)]


def lines_of(document: ParsedDocument) -> list[str]:
    return [line for line in document.text.splitlines() if line]


def tables_of(document: ParsedDocument) -> Iterator[list[str]]:
    for block in document.blocks:
        if block.kind is BlockKind.TABLE:
            yield document.text[block.start : block.end].splitlines()


def test_a_word_without_a_valid_character_loses_no_other(
    parser: Parser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some fonts map characters to halves of surrogate pairs."""
    read = lines.read_characters
    monkeypatch.setattr(lines, "read_characters", lambda page: ["" if each == "#" else each for each in read(page)])
    texts = ["### Alpha", "Beta ## Gamma", "Delta ####", "####", "End....... 7"]
    pages = [[(LEFT, TOP + 20 * number, text) for number, text in enumerate(texts)]] * 2
    read_words = parser.parse(write_pages(tmp_path / "a.pdf", pages)).text.split()
    assert [read_words.count(word) for word in ("Alpha", "Beta", "Gamma", "Delta")] == [2, 2, 2, 2]


# Page headers, page footers and page numbers


@pytest.mark.parametrize("footer", ["Port of Elm | Page {} of 6", "Port of Elm | Q3 | {}", "{} Port of Elm"])
def test_page_headers_and_footers_are_kept_once(parser: Parser, tmp_path: Path, footer: str) -> None:
    pages = [[(90, 12, "Harbour Report"), *body(page), (LEFT, 285, footer.format(page + 1))] for page in range(6)]
    lines = lines_of(parser.parse(write_pages(tmp_path / "a.pdf", pages)))
    assert lines[0] == "Harbour Report"
    assert lines.count("Harbour Report") == 1
    assert [line for line in lines if "Elm" in line] == [footer.format(6)], "the last footer, after all text"
    assert len(lines) == 2 + 6 * 8, "no line of the bodies is lost"


def test_names_next_to_page_numbers_are_removed_if_repeated(parser: Parser, tmp_path: Path) -> None:
    titles = [f"The {word}" for word in WORDS[:6]]
    pages = [
        [*body(page, first=title), (LEFT, 285, "Yearbook"), (60, 285, title), (180, 285, str(page + 7))]
        for page, title in enumerate(titles)
    ]
    lines = lines_of(parser.parse(write_pages(tmp_path / "a.pdf", pages)))
    assert lines.count("Yearbook The amber 7") == 1, "the first name occurs nowhere else"
    assert len(lines) == 1 + 6 * 8


def test_page_numbers_are_removed_if_some_pages_have_none(parser: Parser, tmp_path: Path) -> None:
    printed = ["", "7", "8", "", "9", "10"]  # the title page and one other page have none
    pages = [[*body(page), (100, BOTTOM + page, number)] for page, number in enumerate(printed)]
    lines = lines_of(parser.parse(write_pages(tmp_path / "a.pdf", pages)))
    assert [line for line in lines if line.isdigit()] == []
    assert len(lines) == 6 * 8


def test_pages_that_differ_only_in_a_number_are_kept_whole(parser: Parser, tmp_path: Path) -> None:
    """As certificates of many people: their lines count like page numbers, and no page has another text."""
    pages: list[list[Placed]] = [
        [(LEFT, 30, f"Certificate no. {page}"), (LEFT, 50, f"Given to person {page}"), (LEFT, 70, "Oslo")]
        for page in range(1, 13)
    ]
    lines = lines_of(parser.parse(write_pages(tmp_path / "certificates.pdf", pages)))
    assert [f"Given to person {page}" in lines for page in range(1, 13)] == [True] * 12


def test_pages_with_only_a_header_and_a_footer_lose_both(parser: Parser, tmp_path: Path) -> None:
    edges = [[(LEFT, 10, "Harbour Report"), (LEFT, 285, f"Page {page}")] for page in range(1, 9)]
    pages = [[*edge, *(body(page) if page < 6 else [])] for page, edge in enumerate(edges)]
    lines = lines_of(parser.parse(write_pages(tmp_path / "report.pdf", pages)))
    assert [line for line in lines if "Harbour" in line or "Page" in line] == ["Harbour Report", "Page 8"]


def test_the_page_header_of_one_chapter_is_kept_once(parser: Parser, tmp_path: Path) -> None:
    pages = [[(90, 12, "Second chapter" if 6 <= page < 10 else ""), *body(page)] for page in range(16)]
    lines = lines_of(parser.parse(write_pages(tmp_path / "a.pdf", pages)))
    assert lines.count("Second chapter") == 1
    assert lines.index("Second chapter") == 6 * 8, "where the chapter begins"


def test_a_page_header_does_not_interrupt_a_table_across_pages(parser: Parser, tmp_path: Path) -> None:
    header: list[Placed] = [(LEFT, 10, "Harbour Report 2024")]

    def rows(names: Sequence[str]) -> list[Placed]:
        texts = [("Name", "Year"), *((name, "1999") for name in names)]
        return [
            (x, 20 + 6 * index, text)
            for index, row in enumerate(texts)
            for x, text in zip((LEFT, 90), row, strict=True)
        ]

    pages = [body(0), [*header, *rows(WORDS[:5])], [*header, *rows(WORDS[5:10])]]
    *_, table = tables_of(parser.parse(write_pages(tmp_path / "a.pdf", pages)))
    assert table[-10:] == [f"| {name} | 1999 |" for name in WORDS[:10]]


def test_a_page_header_close_to_the_body_is_removed_like_the_others(parser: Parser, tmp_path: Path) -> None:
    def page(number: int) -> list[Placed]:
        at, below = (TOP - 6, BOTTOM) if number != 3 else (TOP - 4.5, TOP + 5 * 8)
        return [(LEFT, at - 6 * (number != 3), "Harbour Report"), *body(number), (100, below, str(number + 1))]

    lines = lines_of(parser.parse(write_pages(tmp_path / "a.pdf", [page(number) for number in range(6)])))
    assert lines.count("Harbour Report") == 1
    assert "4" not in lines


def test_two_pages_of_the_same_form_keep_repeated_lines(parser: Parser, tmp_path: Path) -> None:
    pages = [[(90, 12, "Repair order"), *body(page), (LEFT, 280, "Note: the bumper")] for page in range(2)]
    lines = lines_of(parser.parse(write_pages(tmp_path / "a.pdf", pages)))
    assert (lines.count("Repair order"), lines.count("Note: the bumper")) == (2, 2)


@pytest.mark.parametrize(
    "placed",
    [
        pytest.param(lambda page: (90, 12, "Overview") if page in (1, 9) else None, id="on two pages only"),
        pytest.param(lambda page: (90, 12, f"{(page * 37) % 11} pilots"), id="with numbers that do not count"),
        pytest.param(lambda page: (LEFT, TOP + 40, "It was a calm day for all."), id="part of the body"),
        pytest.param(lambda page: (90, 120, "* * *"), id="in the middle of the page"),
    ],
)
def test_other_repeated_lines_are_kept(parser: Parser, tmp_path: Path, placed: object) -> None:
    extra = [placed(page) for page in range(10)]  # type: ignore[operator]
    pages = [
        [
            *body(page),
            *([text] if text else []),
            *[(LEFT, 150 + 5 * n, f"{word} {page}.") for n, word in enumerate(WORDS)],
        ]
        for page, text in enumerate(extra)
    ]
    lines = lines_of(parser.parse(write_pages(tmp_path / "a.pdf", pages)))
    assert len(lines) == sum(len(page) for page in pages)


def test_a_sentence_continues_after_a_page_break(parser: Parser, tmp_path: Path) -> None:
    pages = [
        [
            (90, 12, "Harbour Report"),
            *body(page, first="and it rose until noon." if page else "", last="The water kept rising"),
            (100, 285, str(page + 1)),
        ]
        for page in range(4)
    ]
    document = parser.parse(write_pages(tmp_path / "a.pdf", pages))
    assert document.text.count("The water kept rising\nand it rose until noon.") == 3
    assert [document.text[page.start :][:23] for page in document.pages[1:]] == ["and it rose until noon."] * 3
    assert len(document.pages) == 4


@pytest.mark.parametrize(
    ("last", "first"),
    [("The water stopped rising.", "and it was over"), ("The water stopped rising", "Elsewhere it was dry")],
)
def test_a_paragraph_that_ends_with_its_page_stays_separate(
    parser: Parser, tmp_path: Path, last: str, first: str
) -> None:
    pages = [body(0, last=last), body(1, first=first)]
    assert f"{last}\n\n{first}" in parser.parse(write_pages(tmp_path / "a.pdf", pages)).text


# Tables of reports


def report(tmp_path: Path, parser: Parser, rows: Sequence[Row]) -> list[list[str]]:
    """Return the tables read from a page of these rows."""
    texts: list[Placed] = []
    y = float(TOP)
    for height, row in rows:
        texts += [(x, y + dy, text) for x, dy, text in row]
        y += height
    return list(tables_of(parser.parse(write_pages(tmp_path / "a.pdf", [texts]))))


def figures(label: str, *values: str, columns: Sequence[float] = (110, 135, 160, 185)) -> Row:
    """Return a row with a label at the left and figures aligned at the right end of their columns."""
    return 6, [(LEFT, 0, label), *((x - 1.9 * len(value), 0, value) for x, value in zip(columns, values, strict=False))]


PERIODS: list[Row] = [
    (5, [(101, 0, "Three Months"), (150, 0, "Nine Months")]),
    (6, [(107, 0, "Ended"), (156, 0, "Ended")]),
]
YEARS = (6, [(102, 0, "2024"), (127, 0, "2023"), (152, 0, "2024"), (177, 0, "2023")])
SALES = figures("Sales", "1,204", "1,120", "3,512", "3,298")
COSTS = figures("Costs", "(804)", "(799)", "(2,401)", "(2,377)")


def test_a_header_above_several_columns_is_repeated_in_each(parser: Parser, tmp_path: Path) -> None:
    (table,) = report(tmp_path, parser, [*PERIODS, YEARS, SALES, COSTS])
    assert table == [
        "|  | Three Months Ended 2024 | Three Months Ended 2023 | Nine Months Ended 2024 | Nine Months Ended 2023 |",
        "| --- | --- | --- | --- | --- |",
        "| Sales | 1,204 | 1,120 | 3,512 | 3,298 |",
        "| Costs | (804) | (799) | (2,401) | (2,377) |",
    ]


def test_a_header_of_separate_cells_is_read_by_position(parser: Parser, tmp_path: Path) -> None:
    cell_by_cell = (11, [(100, 0, "June 29,"), (103, 5, "2024"), (125, 0, "June 30,"), (128, 5, "2023")])
    rows = [cell_by_cell, *(figures(label, "1,204", "1,120") for label in ("Cash", "Debt", "Rent"))]
    (table,) = report(tmp_path, parser, rows)
    assert table[0] == "|  | June 29, 2024 | June 30, 2023 |"


def test_a_row_of_years_is_a_header(parser: Parser, tmp_path: Path) -> None:
    rows = [figures("Year ended June", "2024", "2023"), *(figures(name, "12", "(13)") for name in ("Cash", "Debt"))]
    (table,) = report(tmp_path, parser, rows)
    assert table[:2] == ["| Year ended June | 2024 | 2023 |", "| --- | --- | --- |"]


def test_a_table_continues_after_lines_of_labels(parser: Parser, tmp_path: Path) -> None:
    labels = [figures("LIABILITIES"), figures("Current liabilities:")]
    cash, debt = (figures(label, "19,204", "17,003") for label in ("Cash", "Debt"))
    rows = [figures("(in millions)", "2024", "2023"), cash, figures("Total", "7", "8"), *labels, debt]
    (table,) = report(tmp_path, parser, rows)
    assert [line.split(" | ")[0].strip("| ") for line in table] == [
        "(in millions)",
        "---",
        "Cash",
        "Total",
        "LIABILITIES",
        "Current liabilities:",
        "Debt",
    ]


def test_another_table_below_has_its_own_header(parser: Parser, tmp_path: Path) -> None:
    one = [figures("Year ended June", "2024", "2023"), SALES, COSTS]
    between = [figures("Gains were as follows:"), figures("(in millions)")]
    first, second = report(tmp_path, parser, [*one, *between, *one])
    assert first == second


def test_a_wrapped_label_is_in_the_row_of_its_values(parser: Parser, tmp_path: Path) -> None:
    wrapped: Row = (
        11,
        [(LEFT, 0, "Gains from securities that are"), (LEFT, 5, "available for sale"), (102, 5, "93"), (127, 5, "87")],
    )
    section = figures("Costs of sales:")
    rows = [figures("Year", "2024", "2023"), wrapped, section, figures("goods", "12", "11"), figures("rent", "2", "3")]
    (table,) = report(tmp_path, parser, rows)
    assert table[2:] == [
        "| Gains from securities that are available for sale | 93 | 87 |",
        "| Costs of sales: |  |  |",
        "| goods | 12 | 11 |",
        "| rent | 2 | 3 |",
    ]


def test_currency_and_percent_signs_belong_to_their_figures(parser: Parser, tmp_path: Path) -> None:
    rows: list[Row] = [
        figures("Year", "2024", "2023"),
        (6, [(LEFT, 0, "Net income"), (95, 0, "$"), (104, 0, "(12)"), (113, 0, "$"), (130, 0, "9")]),
        (6, [(LEFT, 0, "Margin"), (106, 0, "5"), (113, 0, "%"), (130, 0, "4"), (137, 0, "%")]),
        figures("Units", "731", "702"),
    ]
    (table,) = report(tmp_path, parser, rows)
    assert table[2:] == ["| Net income | $ (12) | $ 9 |", "| Margin | 5 % | 4 % |", "| Units | 731 | 702 |"]


# Framed tables


def write_frames(path: Path, cells: Sequence[tuple[float, float, float, float, str]]) -> Path:
    """Write a PDF with these frames (left, top, width, height in cells) and the lines of text in them."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    for left, top, width, height, text in cells:
        x, y = LEFT + 50 * left, TOP + 20 * top
        corners = [(x, y), (x + 50 * width, y), (x + 50 * width, y + 20 * height), (x, y + 20 * height), (x, y)]
        for (x1, y1), (x2, y2) in pairwise(corners):
            pdf.line(x1, y1, x2, y2)
        for number, line in enumerate(text.splitlines()):
            pdf.text(x + 2, y + 5 + 5 * number, line)
    pdf.output(str(path))
    return path


def test_the_text_in_a_frame_is_one_cell(parser: Parser, tmp_path: Path) -> None:
    cells = [
        (0, 0, 1, 1, "Code"), (1, 0, 1, 1, "What to do"), (2, 0, 1, 1, "Who"),
        (0, 1, 1, 1, "E 04\nValve\nclosed"), (1, 1, 1, 1, "Open it.\n\nThen wait."), (2, 1, 1, 1, "user"),
        (0, 2, 1, 1, "E 07"), (1, 2, 1, 1, "Call"), (2, 2, 1, 1, ""),
    ]  # fmt: skip
    (table,) = tables_of(parser.parse(write_frames(tmp_path / "a.pdf", cells)))
    assert table == [
        "| Code | What to do | Who |",
        "| --- | --- | --- |",
        "| E 04 Valve closed | Open it. Then wait. | user |",
        "| E 07 | Call |  |",
    ]


def test_a_merged_cell_is_repeated_in_all_its_rows_and_columns(parser: Parser, tmp_path: Path) -> None:
    cells = [
        (0, 0, 1, 2, "Model"), (1, 0, 2, 1, "Power"),
        (1, 1, 1, 1, "in winter"), (2, 1, 1, 1, "in summer"),
        (0, 2, 1, 1, "A 1"), (1, 2, 1, 2, "5 kW"), (2, 2, 1, 1, "7 kW"),
        (0, 3, 1, 1, "A 2"), (2, 3, 1, 1, "8 kW"),
    ]  # fmt: skip
    (table,) = tables_of(parser.parse(write_frames(tmp_path / "a.pdf", cells)))
    assert table == [
        "| Model | Power in winter | Power in summer |",
        "| --- | --- | --- |",
        "| A 1 | 5 kW | 7 kW |",
        "| A 2 | 5 kW | 8 kW |",
    ]


def test_no_word_in_nested_frames_is_lost(parser: Parser, tmp_path: Path) -> None:
    outer = [(0, 0, 1, 3, "Outside"), (1, 0, 2, 3, "Around"), (0, 3, 1, 1, "Below"), (1, 3, 2, 1, "Under")]
    inner = [(1.2, 0.6, 0.8, 1, "One"), (2, 0.6, 0.8, 1, "Two"), (1.2, 1.6, 0.8, 1, "Three"), (2, 1.6, 0.8, 1, "Four")]
    text = parser.parse(write_frames(tmp_path / "a.pdf", [*outer, *inner])).text
    assert all(cell[-1] in text for cell in [*outer, *inner])
