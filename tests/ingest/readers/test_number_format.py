"""Numbers as spreadsheets show them."""

from __future__ import annotations

import pytest

from ingest.readers.shared.number_format import format_number, format_text, is_time

SHOWN = [
    (1067, "00000", "01067"),
    (0.256, "0.0%", "25.6%"),
    (0.07, "0.0%", "7.0%"),
    (1234.5, '#,##0.00\\ "EUR"', "1,234.50 EUR"),
    (1234.5, "[$€-407] #,##0.00", "€ 1,234.50"),
    (-1234.5, "_-* #,##0.00\\ [$€-407]_-;\\-* #,##0.00\\ [$€-407]_-", "-1,234.50 €"),
    (-5, "#,##0;(#,##0)", "(5)"),
    (-5, "0.0", "-5.0"),
    (-0.001, "0.00", "0.00"),
    (0, '0;-0;"-"', "-"),
    (0.005, "0.00", "0.01"),
    (0.001, "mm:ss.0", "01:26.4"),
    (0.0512345, "[m]:ss.00", "73:46.66"),
    (45356.75, "yyyy-mm-dd hh:mm:ss.000", "2024-03-05 18:00:00.000"),
    (59, "yyyy-mm-dd", "1900-02-28"),
    (0.5, "#.##", ".5"),
    (123456, "#,##0,", "123"),
    (12500000, '0.0,," M"', "12.5 M"),
    (12345, "0.00E+00", "1.23E+04"),
    (1.75, "# ?/?", "1 3/4"),
    (123456789, "000-00-0000", "123-45-6789"),
    (4930123456, "0##\\ ####\\ ####", "049 3012 3456"),
    (120, '[>=100]"many";0', "many"),
    (12, '[>=100]"many";0', "12"),
    (5, '0" Stk"', "5 Stk"),
    (1, "\\1\\.0#", "1.01"),
    (0.1 + 0.2, "General", "0.3"),
    (1.1e-7, "General", "1.1E-07"),
    (0.00012, "##0.0E+0", "120.0E-6"),
    (999.96, "##0.0E+0", "1.0E+3"),
    (1e15, "General", "1000000000000000"),
    (45292.75, "yyyy\\-mm\\-dd", "2024-01-01"),
    (45292.75, "dd.mm.yyyy hh:mm", "2024-01-01 18:00"),
    (45292.5, "[$-409]d/m/yy h:mm AM/PM;@", "2024-01-01 12:00"),
    (45292, "mmm-yy", "2024-01"),
    (45292, "yyyy", "2024"),
    (45292, "d. mmmm", "1 January"),
    (0.75, "h:mm", "18:00"),
    (1.3125, "[h]:mm", "31:30"),
    (61, "[mm]:ss", "87840:00"),
    (-1, "yyyy-mm-dd", "-1"),
]


@pytest.mark.parametrize(("value", "code", "shown"), SHOWN)
def test_a_number_is_written_as_shown(value: float, code: str, shown: str) -> None:
    assert format_number(value, code) == shown


def test_dates_of_the_other_calendar_begin_in_1904() -> None:
    assert format_number(0, "yyyy-mm-dd", from_1904=True) == "1904-01-01"


@pytest.mark.parametrize(
    ("code", "expected"), [("mmm yy", True), ("[h]:mm", True), ("0.0%", False), ('0 "days"', False)]
)
def test_codes_of_times_are_recognised(code: str, expected: bool) -> None:
    assert is_time(code) is expected


@pytest.mark.parametrize(
    "code", ["", ";;;", "[", '"', "\\", "0/", "?/?", "[>]0", "E+", "0.0.0", "[$-", "@", "//", "%%"]
)
def test_damaged_codes_still_show_the_number(code: str) -> None:
    assert isinstance(format_number(12.5, code), str)


@pytest.mark.parametrize(
    ("code", "shown"),
    [('"No. "@', "No. A7"), ('0;"x"@', "xA7"), ("@", "A7"), ('0;-0;;"(@) "@', "(@) A7"), ('0 "@"', "A7"), (";;;", "")],
)
def test_the_section_with_the_text_shows_it(code: str, shown: str) -> None:
    assert format_text("A7", code) == shown
