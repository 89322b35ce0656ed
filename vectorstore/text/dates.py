"""Dates of a text in one form: 12 March 2021, 2021-03-12 and 12.03.2021 are 20210312, and 202103 as a month.

The names of months come from Unicode CLDR, in English and in the language of the text. Owns all use of Babel here.
"""

import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import date
from functools import cache

from vectorstore.text.languages import ENGLISH

MONTH = re.compile(r"(?:1[5-9]|20|21)\d\d(?:0[1-9]|1[0-2])")
"""The form of a month."""
_YEAR = r"(?P<year>(?:1[5-9]|20|21)\d\d)(?!\d)"
_DAY = r"(?<!\d)(?P<day>[0-3]?\d)"
_NUMERIC = (
    re.compile(r"(?<![\d-])(?P<year>(?:1[5-9]|20|21)\d\d)([-/])(?P<month>[01]?\d)\2(?P<day>[0-3]?\d)(?![\d-])"),
    re.compile(rf"{_DAY}\.\s?(?P<month>[01]?\d)\.\s?{_YEAR}"),
    re.compile(r"(?<![\d.])(?P<day>[0-3]\d)\.(?P<month>[01]\d)\.(?P<year>\d\d)(?!\.?\d)"),
    re.compile(r"(?P<year>(?:1[5-9]|20|21)\d\d)年\s?(?P<month>[01]?\d)月\s?(?P<day>[0-3]?\d)[日号]"),
    re.compile(rf"{_DAY}/(?P<month>[01]?\d)/{_YEAR}"),
    re.compile(rf"(?<!\d)(?P<month>[01]?\d)/(?P<day>[0-3]?\d)/{_YEAR}"),
)
_PIVOT = 50
"""Years of two digits belong to the last century from this one on."""
_SEPARATED = re.compile(r"\d[-/.年]\s?\d?\d[-/.月]\s?\d")
"""A part of every date in digits. Without a match, the patterns above need not be tried."""
_SLASHED = _NUMERIC[-2:]
_YEARS = re.compile(r"(?:1[5-9]|20|21)(?<=\s..)\d\d(?!\d)")
_NAMED = re.compile(r"[^\W\d]\.?,?\s(?:[0-3]?\d(?:st|nd|rd|th)?,?\s|de\s)?\Z")
"""A letter near the year behind it: the year of a date with the name of a month. Only then the names are loaded."""
_BEFORE_YEAR = 50
"""The most characters between the start of a date and its year. The longest name of a month in CLDR has 30."""


def dates(text: str, language: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Yield start, end and forms of each date: the day and the month, or the month alone.

    Skips dates with slashes whose day and month could be exchanged.
    """
    for pattern in _NUMERIC if _SEPARATED.search(text) else ():
        for found in pattern.finditer(text):
            day, month = int(found["day"]), int(found["month"])
            if pattern not in _SLASHED or day > 12 or day == month:
                yield from _dated(found, month)
    for year in _YEARS.finditer(text):
        start = max(0, year.start() - _BEFORE_YEAR)
        patterns, months = _named(language) if _NAMED.search(text, start, year.start()) else ((), {})
        for pattern in patterns:
            for found in pattern.finditer(text, start, year.end()):
                if found.end() == year.end():
                    yield from _dated(found, months[found["name"].casefold()])


def _dated(found: re.Match[str], month: int) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    parts = found.groupdict()
    year = int(parts["year"])
    year += (1900 if year >= _PIVOT else 2000) if year < 100 else 0
    with suppress(ValueError):  # such as 31 February
        day = date(year, month, int(parts.get("day") or 1))
        forms = (f"{day:%Y%m%d}", f"{day:%Y%m}") if parts.get("day") else (f"{day:%Y%m}",)
        yield found.start(), found.end(), forms


@cache
def _named(language: str) -> tuple[tuple[re.Pattern[str], ...], dict[str, int]]:
    named = months_of(ENGLISH) | months_of(language)
    months = {name.casefold(): number for name, number in named.items()}
    names = "|".join(sorted(map(re.escape, months), key=len, reverse=True))
    name = rf"(?<!\w)(?P<name>{names})\.?"
    return (
        re.compile(rf"{_DAY}(?:st|nd|rd|th|er|\.|º)?\s(?:of\s|de\s)?{name},?\s(?:de\s)?{_YEAR}", re.IGNORECASE),
        re.compile(rf"{name}\s(?P<day>[0-3]?\d)(?:st|nd|rd|th)?,?\s{_YEAR}", re.IGNORECASE),
        re.compile(rf"{name},?\s(?:de\s)?{_YEAR}", re.IGNORECASE),
    ), months


def months_of(language: str) -> dict[str, int]:
    """Return the month numbers by name, or an empty dict if CLDR lacks the language."""
    from babel import Locale, UnknownLocaleError

    try:
        locale = Locale.parse(language)
    except (UnknownLocaleError, ValueError):
        return {}
    widths = (
        locale.months[context][width] for context in ("format", "stand-alone") for width in ("wide", "abbreviated")
    )
    return {name.rstrip("."): number for names in widths for number, name in names.items() if name}
