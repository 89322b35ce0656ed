"""Finds the period of a document: the date on the first pages that recurs in the rest of the document.

A report repeats the end of its period in every table, but rarely its dates of filing, printing and signature.
"""

import re
from collections import Counter
from collections.abc import Iterator
from datetime import date
from functools import cache
from typing import NamedTuple

from ingest.document import Fact
from ingest.facts.opening import Opening
from vectorstore.text.dates import months_of
from vectorstore.text.languages import ENGLISH

_RECURS = 5  # minimum occurrences after the first pages
_LEAD = 1.5  # minimum ratio of the occurrences to those of any other date on the first pages

_REACH = 40  # characters from a year to the other end of its date
_ANY_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")

# Between day, month and year: punctuation and a short word or ending, as in "31st of", "1. de", "2023 г."
_BETWEEN = r"[^\W\d]{0,3}[^\w\n|]{0,3}\n?(?:[^\W\d]{1,3}[^\w\n|]{1,2})?"
_YEAR = r"(?P<year#>(?:19|20)\d\d)"
_DAY = r"(?P<day#>[0-3]?\d)"
_NUMERIC = [
    rf"{_YEAR}[-/.年]\s?(?P<month#>[01]?\d)[-/.月]\s?{_DAY}",
    rf"{_DAY}(?P<mark#>[-/.])(?P<month#>[01]?\d)(?P=mark#){_YEAR}",
    rf"(?P<month#>[01]?\d)(?P<mark#>[-/.]){_DAY}(?P=mark#){_YEAR}",
]


class _Found(NamedTuple):
    date: date
    start: int
    end: int


def find_period(opening: Opening, language: str) -> Fact | None:
    """Return the most frequent date if it is on the first pages and clearly leads the other dates there, or None."""
    dates = list(find_dates(opening.whole, language))
    later = Counter(found.date for found in dates if found.start >= len(opening.text))
    first = {found.date: found for found in reversed(dates) if found.end <= len(opening.text)}
    ranked = later.most_common(1)
    if not ranked or ranked[0][0] not in first or ranked[0][1] < _RECURS:
        return None
    period, times = ranked[0]
    if any(times < _LEAD * later[other] for other in first if other != period):
        return None
    return opening.fact(first[period].start, first[period].end, period.isoformat())


def find_dates(text: str, language: str) -> Iterator[_Found]:
    """Yield the full dates in a text. Skips numeric dates whose day and month are ambiguous."""
    pattern, months = _pattern(language)
    for match in _near_years(text, pattern):
        parts = {name.rstrip("0123456789"): part for name, part in match.groupdict().items() if part}
        month = months.get(parts["month"].casefold().rstrip(".")) or int(parts["month"])
        day = int(parts["day"])
        if "mark" in parts and day <= 12 and month != day:
            continue
        try:
            yield _Found(date(int(parts["year"]), month, day), match.start(), match.end())
        except ValueError:  # such as 31 February
            continue


def _near_years(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the matches that contain a year. Searching only near years is five times as fast as a full search."""
    end = 0
    for year in _ANY_YEAR.finditer(text):
        for match in pattern.finditer(text, max(end, year.start() - _REACH), year.end() + _REACH):
            if match.start() <= year.start() < match.end():
                end = match.end()
                yield match


@cache
def _pattern(language: str) -> tuple[re.Pattern[str], dict[str, int]]:
    """Return the pattern of dates in the language, and the month numbers by lower-case name."""
    months = {name: number for name, number in months_of(language or ENGLISH).items() if not name[0].isdigit()}
    # List each spelling: a case-insensitive pattern is four times slower.
    cased = {spelling for name in months for spelling in (name, name.lower(), name.upper(), name.title())}
    names = "|".join(re.escape(name) for name in sorted(cased, key=len, reverse=True))
    month = rf"(?P<month#>{names})\.?"
    written = [
        rf"{_DAY}{_BETWEEN}{month}{_BETWEEN}{_YEAR}",
        rf"{month}{_BETWEEN}{_DAY}{_BETWEEN}{_YEAR}",
        rf"{_YEAR}{_BETWEEN}{month}{_BETWEEN}{_DAY}",
    ]
    forms = [form.replace("#", str(number)) for number, form in enumerate([*(written if names else ()), *_NUMERIC])]
    return re.compile(rf"(?<![\d/.-])(?:{'|'.join(forms)})(?!\d|T\d)"), {
        name.casefold(): months[name] for name in months
    }
