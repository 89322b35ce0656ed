"""Facts that a model states, each with the number of the line that shows it. Kept are those that the line does show.

Only the kind of a document is not checked against the words of its line: it is a description, such as "lease contract"
for an agreement between landlord and tenant, so it may use other words. Its line must exist all the same.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from ingest.document import CURRENCY, DATE, KIND, PERIOD, Fact, FactSource, ParsedDocument
from ingest.facts.currency import printed_currency
from ingest.facts.opening import WORD
from ingest.facts.period import find_dates, months_of
from vectorstore.text.languages import ENGLISH

_BYTES = 6_000  # of UTF-8; with about four bytes a token, these are 1,500 tokens in any script
_LONGEST_LINE = 300  # characters; a paragraph on one line becomes several, so that each can be quoted whole
_LONGEST_KIND = 80  # characters; nothing else limits what a document makes the model write there
_SHOWN = 80  # characters of a value and of a line in a warning
_SHORTEST_MONTH = 3  # letters: "Sept" is a month, though CLDR shortens it to "Sep"
_LAST_LATIN = "\u024f"  # the last character of Latin Extended-B

_PIECE = re.compile(rf"[^\n]{{1,{_LONGEST_LINE}}}(?!\w)|[^\n]{{1,{_LONGEST_LINE}}}")
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_NUMBER = re.compile(r"\d+")


class StatedFact(NamedTuple):
    """What a model says: name and value of a fact, and the number of the line that shows it, from 1."""

    name: str
    value: str
    line: int


class Line(NamedTuple):
    """One line of a document, without breaks, and its page if the format has pages."""

    text: str
    page: int | None


def opening_lines(parsed: ParsedDocument) -> list[Line]:
    """Return the lines with which a document begins, about 1,500 tokens, without empty ones."""
    lines: list[Line] = []
    size = 0
    for piece in _PIECE.finditer(parsed.text):
        if not (text := " ".join(piece[0].split())):
            continue
        size += len(text.encode("utf-8", errors="surrogatepass"))
        if lines and size > _BYTES:
            break
        at = piece.start()
        lines.append(Line(text, next((page.number for page in parsed.pages if page.start <= at < page.end), None)))
    return lines


def check_facts(
    stated: Iterable[StatedFact], lines: Sequence[Line], language: str
) -> tuple[dict[str, Fact], tuple[str, ...]]:
    """Return the first fact of each name that its line shows, and a warning for each name with others only.

    ``language`` is the ISO 639-1 code of the document's language, which names its months; empty if it is unknown.
    """
    facts: dict[str, Fact] = {}
    warnings: dict[str, str] = {}
    for each in stated:
        line = lines[each.line - 1] if 1 <= each.line <= len(lines) else None
        if each.name not in facts and line and (fact := _fact(each, line, language)):
            facts[each.name] = fact
        warnings.setdefault(each.name, _warning(each, line))
    return facts, tuple(warning for name, warning in warnings.items() if name not in facts)


def _fact(stated: StatedFact, line: Line, language: str) -> Fact | None:
    """Return the fact if the line shows it."""
    value = " ".join(stated.value.split())
    match stated.name:
        case name if name == KIND:
            printed = value if len(value) <= _LONGEST_KIND else ""
        case name if name in (PERIOD, DATE):
            printed = _printed_date(value, line.text, language)
        case name if name == CURRENCY:
            value = value.upper()
            printed = printed_currency(value, line.text, language)
        case _:
            printed = _printed_words(value, line.text)
    if not printed:
        return None
    return Fact(value=value, printed=printed, quote=line.text, page=line.page, source=FactSource.MODEL)


def _printed_words(value: str, line: str) -> str:
    """Return the value as the line writes it; "" unless all its words are there, in any case and order."""
    plain = _plain(line)
    on_line, words = set(WORD.findall(plain)), WORD.findall(_plain(value))
    # Scripts without spaces have a word within a longer one; other scripts inflect its end.
    if not words or not all(word in on_line or (max(word) > _LAST_LATIN and word in plain) for word in words):
        return ""
    found = re.search(re.escape(value), line, re.IGNORECASE)
    return found[0] if found else value


def _printed_date(value: str, line: str, language: str) -> str:
    """Return an ISO date as the line writes it; "" unless its year, and its month and day if it has them, are there.

    Dates without day, or without month and day, stay as they are: they may be spread over the line.
    """
    match = _ISO.fullmatch(value)
    if not match:
        return ""
    year, month, day = (int(part or 0) for part in match.groups())
    try:
        meant = date(year, month or 1, day or 1)
    except ValueError:  # such as 31 February
        return ""
    needed = [year, *([day] if day else []), *([month] if month and not _names_month(month, line, language) else [])]
    if not Counter(needed) <= Counter(map(int, _NUMBER.findall(line))):
        return ""
    whole = (line[found.start : found.end] for found in find_dates(line, language) if day and found.date == meant)
    return next(whole, value)


def _names_month(month: int, line: str, language: str) -> bool:
    names = [name for name, number in (months_of(ENGLISH) | months_of(language)).items() if number == month]
    words = WORD.findall(_plain(line))
    return any(
        name.casefold() == word or (len(word) >= _SHORTEST_MONTH and name.casefold().startswith(word))
        for name in names
        for word in words
    )


def _plain(text: str) -> str:
    """Return the text in lower case, with one spelling of each character."""
    return unicodedata.normalize("NFKC", text).casefold()


def _warning(stated: StatedFact, line: Line | None) -> str:
    shown = f"line {stated.line} ({_shortened(line.text)!r}) does not show it" if line else f"no line {stated.line}"
    reason = shown if line else f"the opening of the document has {shown}"
    return f"The {stated.name} {_shortened(stated.value)!r} of the model is left out: {reason}."


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
