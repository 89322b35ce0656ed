"""Finds the title, issuer, period, currency and date of a document by rules.

A missing fact is better than a wrong one, so a rule returns a fact only if the document confirms it.
"""

import re
from datetime import date, datetime
from email.utils import parsedate_to_datetime
from html import unescape

from ingest.document import CURRENCY, DATE, ISSUER, PERIOD, TITLE, Fact, FactSource, ParsedDocument
from ingest.facts.currency import find_currency
from ingest.facts.issuer import find_issuer
from ingest.facts.opening import WORD, Opening
from ingest.facts.period import find_dates, find_period
from vectorstore.text.languages import LANGUAGE


def find_title(stated: str, opening: Opening) -> Fact | None:
    """Return the title property of the file, or None if the first pages lack one of its words.

    This rejects names of files and programs, such as "Microsoft Word - R1" and "EDGAR PDF".
    """
    title = " ".join(unescape(stated).split())
    words = WORD.findall(title.casefold())
    if not any(character.isalpha() for character in title):
        return None
    # In scripts without spaces, the title is one word that can be part of a longer word on the page.
    if not opening.words.issuperset(words) and "".join(words) not in opening.letters:
        return None
    return Fact(value=title, printed=title, quote=title, source=FactSource.PROPERTY)


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
        except (ValueError, OverflowError):  # OverflowError: a forged number
            continue
    return None


def find_facts(parsed: ParsedDocument) -> dict[str, Fact]:
    """Return the facts that the rules find, by name. Takes about 0.1 s for a report of 100 pages."""
    opening = Opening(parsed)
    language = str(parsed.metadata.get(LANGUAGE, ""))
    published = _day(str(parsed.metadata.get("published_at", "")))  # by the page itself, and not by a program
    day = str(parsed.fields.get(DATE, "")) or (published.isoformat() if published else "")
    created = str(parsed.metadata.get("created_at") or parsed.fields.get("created_at", ""))  # a PDF has it as a field
    own = Fact(value=day, printed=day, quote=f"{DATE}: {day}", source=FactSource.PROPERTY) if day else None
    found = {
        TITLE: find_title(parsed.title, opening),
        ISSUER: find_issuer(opening),
        PERIOD: find_period(opening, language),
        CURRENCY: find_currency(opening),
        DATE: own or find_date(created, opening, language),
    }
    return {name: fact for name, fact in found.items() if fact}
