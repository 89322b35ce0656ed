"""Frames of cells and underlines among the lines drawn on a page, also of a turned one."""

from __future__ import annotations

from pathlib import Path

import pytest
from fpdf import FPDF

from ingest.parser import load_parser
from ingest.readers.pdf.drawing import NOTHING, Box, Rule, find_band, find_box, find_underlines, rotate_box
from ingest.readers.pdf.styles import with_strikes
from ingest.readers.pdf.words import Word

FRAMED = NOTHING._replace(
    vertical_lines=((10, 0, 100), (60, 0, 100), (200, 0, 100)),
    horizontal_lines=((20, 10, 200), (50, 10, 200), (80, 20, 35)),
)
UNDERLINED = NOTHING._replace(horizontal_lines=((48, 10, 30), (48, 32, 60), (49, 80, 90), (70, 10, 90)))


@pytest.mark.parametrize(
    ("turn", "turned"),
    [(0, (1, 2, 30, 40)), (1, (2, -30, 40, -1)), (2, (-30, -40, -1, -2)), (3, (-40, 1, -2, 30))],
)
def test_a_box_is_turned_with_its_page(turn: int, turned: tuple[float, float, float, float]) -> None:
    assert rotate_box((1, 2, 30, 40), turn) == turned
    left, bottom, right, top = turned
    assert left < right
    assert bottom < top


def test_four_lines_around_a_text_are_its_frame() -> None:
    assert find_box(20, 30, 55, FRAMED) == Box(10, 20, 60, 50)
    assert find_box(70, 30, 150, FRAMED) == Box(60, 20, 200, 50)
    assert find_box(20, 30, 70, FRAMED) is None, "the text is wider than the frame"
    assert find_box(25, 60, 55, FRAMED) is None, "the line above is an underline"
    assert find_box(5, 30, 8, FRAMED) is None, "nothing is drawn at its left"
    assert find_box(20, 30, 55, NOTHING) is None


def test_the_edges_around_a_point_are_its_band() -> None:
    assert find_band(15, 30, FRAMED.horizontal_lines) == (20, 50)
    assert find_band(15, 90, FRAMED.horizontal_lines) is None
    assert find_band(300, 30, FRAMED.horizontal_lines) is None


def test_parts_of_an_underline_are_joined() -> None:
    assert find_underlines(50, 60, UNDERLINED) == ((10, 60), (80, 90))
    assert find_underlines(20, 30, UNDERLINED) == ()


def test_struck_words_of_a_page_are_marked(tmp_path: Path) -> None:
    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, 7, "The fee is ~~4,500 EUR~~ 5,200 EUR, __due in May__.", markdown=True)
    pdf.ln(20)
    pdf.multi_cell(0, 7, "The gap \\~~ \\~~ stays, as a\\~~ \\~~b does.", markdown=True)
    pdf.output(str(tmp_path / "a.pdf"))
    text = load_parser("default").parse(tmp_path / "a.pdf").text
    assert "The fee is ~~4,500 EUR~~ 5,200 EUR, due in May." in text
    assert "The gap ~~ ~~ stays, as a~~ ~~b does." in text  # what the page prints


@pytest.mark.parametrize(
    ("lines", "text"),
    [
        ([(5, 0, 40)], "~~Old~~ ~~fee~~ new"),
        ([(4.9, 0, 18), (5.1, 19, 41)], "~~Old~~ ~~fee~~ new"),  # parts of one line
        ([(5, 0, 17), (5, 22, 40)], "~~Old~~ ~~fee~~ new"),
        ([(5, 0, 60)], "~~Old~~ ~~fee~~ ~~new~~"),
        ([(1, 0, 40)], "Old fee new"),  # an underline
        ([(9, 0, 40)], "Old fee new"),
        ([(5, -30, 90)], "Old fee new"),  # a line of a chart
        ([(5, 0, 49)], "Old fee new"),  # one that ends nowhere
        ([(5, 24, 36)], "Old fee new"),
        ([], "Old fee new"),
    ],
)
def test_what_strikes_words_out_begins_and_ends_with_them(lines: list[Rule], text: str) -> None:
    words = [Word(each, 20 * place, 20 * place + 18, 0, 10) for place, each in enumerate(("Old", "fee", "new"))]
    assert " ".join(word.text for word in with_strikes(words, sorted(lines))) == text


@pytest.mark.parametrize(("text", "line"), [("–", (5, 0, 5)), ("●", (5, -2, 7)), ("x", (5, -3, 8))])
def test_a_dash_or_the_sign_of_a_chart_is_not_struck(text: str, line: Rule) -> None:
    word = Word(text, 0, 5, 0, 10)
    assert with_strikes([word], [line]) == (word,)
