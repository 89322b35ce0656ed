"""Shortened texts end at a word, or within one where words have no blanks."""

import pytest

from base.text import shorten


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("The pump  works.", 20, "The pump works."),
        ("The pump works in a hard frost.", 20, "The pump works in …"),
        ("产品在零下二十五度工作。" * 3, 20, "产品在零下二十五度工作。产品在零下二 …"),
        ("A1: 产品在零下二十五度工作。产品在零下二十五度工作。", 20, "A1: 产品在零下二十五度工作。产品 …"),
    ],
)
def test_shorten(text: str, width: int, expected: str) -> None:
    assert shorten(text, width) == expected
    assert len(expected) <= width
