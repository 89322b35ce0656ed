"""Frames of cells and underlines among the lines drawn on a page, also of a turned one."""

from __future__ import annotations

import pytest

from ingest.readers.pdf.drawing import NOTHING, Box, find_band, find_box, find_underlines, rotate_box

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
