"""Finds the date of a document in its properties and on its first page."""

from __future__ import annotations

import re
from datetime import date, datetime
from email.utils import parsedate_to_datetime

from ingest.document import Fact
from ingest.facts.opening import Opening
from ingest.facts.period import find_dates

_ALONE = re.compile(r"(?:[^\W\d_]+[:,][ \t]*)?")  # the rest of a line with a date: "Published:", "Berlin,"


def find_date(created: str, opening: Opening, language: str) -> Fact | None:
    """Return the date of creation if the opening states it, otherwise the only date that is a line of the first page.

    The property alone is often the date of a template or of a copy.
    """
    dates = list(find_dates(opening.text, language))
    if day := _day(created):
        if (start := opening.text.find(created)) >= 0:
            return opening.fact(start, start + len(created), day.isoformat())
        if shown := next((found for found in dates if found.date == day), None):
            return opening.fact(shown.start, shown.end, day.isoformat())
    alone = [
        found
        for found in dates
        if found.end <= opening.first_page
        and _ALONE.fullmatch(opening.line(found.start, found.end).replace(opening.text[found.start : found.end], "", 1))
    ]
    if len({found.date for found in alone}) == 1:
        return opening.fact(alone[0].start, alone[0].end, alone[0].date.isoformat())
    return None


def _day(created: str) -> date | None:
    """Return the day of a time in ISO form or that of e-mails, in its own zone. None for other texts."""
    for parse in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            return parse(created.strip()).date()
        except ValueError:
            continue
    return None
