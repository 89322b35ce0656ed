"""The token estimate errs on the high side for every script."""

from __future__ import annotations

import pytest

from base.tokens import estimate_tokens


@pytest.mark.parametrize(
    ("text", "counted"),
    [
        ("A heat pump moves warmth from a cold place to a warm one, and needs less energy for it than a heater.", 23),
        (
            "Die Wärmepumpe arbeitet auch bei Außentemperaturen unter minus zwanzig Grad zuverlässig, sofern die "
            "Vorlauftemperatur niedrig bleibt.",
            43,
        ),
        ("热泵在零下二十度的室外温度下仍能可靠运行,只要供水温度不超过五十五度。", 44),
        ("تعمل المضخة الحرارية بشكل موثوق حتى في درجات حرارة أقل من عشرين تحت الصفر", 49),
        ("| rank | name | time |\n|---|---|---|\n| 1 | Kiptum | 2:00:35 |\n| 2 | Kipchoge | 2:01:09 |", 45),
        ('{"kind": "heat pump", "coldest": -25, "pages": [3, 4]}', 23),
    ],
    ids=["english", "german", "chinese", "arabic", "table", "json"],
)
def test_the_estimate_is_close_to_a_tokenizer_and_not_below(text: str, counted: int) -> None:
    """The expected counts come from cl100k_base."""
    assert 0.97 * counted <= estimate_tokens(text) <= 1.6 * counted


def test_each_digit_is_one_token() -> None:
    assert estimate_tokens("1234567890") == 10


def test_an_empty_text_has_no_tokens() -> None:
    assert estimate_tokens("") == 0


def test_a_megabyte_is_estimated() -> None:
    """A regular expression with look-behind takes minutes, and the test reaches its time limit."""
    text = "warmth from a cold place, 20 °C; "
    assert estimate_tokens(text * 30_000) == pytest.approx(30_000 * estimate_tokens(text), rel=0.1)
