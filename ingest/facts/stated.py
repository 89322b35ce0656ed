"""Checks the facts that a model states. The model cites a line for each fact, and the line must state the fact.

The kind of a document is the exception: the model may describe it in other words, such as "lease contract" for an
agreement between landlord and tenant. Only its length and the existence of its
line are checked.
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import date
from typing import NamedTuple

from ingest.document import CURRENCY, DATE, KIND, PERIOD, Fact, FactSource, ParsedDocument
from ingest.facts.currency import printed_currency
from ingest.facts.opening import WORD
from ingest.facts.period import find_dates
from vectorstore.text.dates import months_of
from vectorstore.text.languages import ENGLISH

_BYTES = 6_000  # UTF-8 bytes of the opening: about 1,500 tokens in any script, at about four bytes per token
_LONGEST_LINE = 300  # characters; longer lines are split, so that a quote can show the whole line
_LONGEST_KIND = 80  # characters; no other check limits what a document can make the model write here
_SHOWN = 80  # characters of a value or line in a warning
_SHORTEST_MONTH = 3  # letters: accept any abbreviation of at least three letters, such as "Sept", which CLDR lacks
_LAST_LATIN = "\u024f"  # the last character of Latin Extended-B

_PIECE = re.compile(rf"[^\n]{{1,{_LONGEST_LINE}}}(?!\w)|[^\n]{{1,{_LONGEST_LINE}}}")
_ISO = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?")
_NUMBER = re.compile(r"\d+")


class StatedFact(NamedTuple):
    """A fact that the model states: its name, its value and the number of the cited line, from 1."""

    name: str
    value: str
    line: int


class Line(NamedTuple):
    """One line of a document, and its page if the format has pages."""

    text: str
    page: int | None


def opening_lines(parsed: ParsedDocument) -> list[Line]:
    """Return the first non-empty lines of the document, about 1,500 tokens."""
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
    """Return the first confirmed fact of each name, and a warning for each name without a confirmed fact.

    ``language`` is the ISO 639-1 code of the document's language, or empty if unknown. It selects the names of months.
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
    """Return the fact if the line states it, otherwise None."""
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
    """Return the value as printed on the line, or "" if a word is missing. Ignores case and word order."""
    plain = _plain(line)
    on_line, words = set(WORD.findall(plain)), WORD.findall(_plain(value))
    # In scripts without spaces, a word is part of a longer string; in other non-Latin scripts, of an inflected form.
    if not words or not all(word in on_line or (max(word) > _LAST_LATIN and word in plain) for word in words):
        return ""
    found = re.search(re.escape(value), line, re.IGNORECASE)
    return found[0] if found else value


def _printed_date(value: str, line: str, language: str) -> str:
    """Return the ISO date as printed on the line, or "" if the line lacks its year, month or day.

    A date that is incomplete or spread over the line is returned in ISO form.
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
    """Return the text in NFKC form and lower case."""
    return unicodedata.normalize("NFKC", text).casefold()


def _warning(stated: StatedFact, line: Line | None) -> str:
    shown = f"line {stated.line} ({_shortened(line.text)!r}) does not show it" if line else f"no line {stated.line}"
    reason = shown if line else f"the opening of the document has {shown}"
    return f"The {stated.name} {_shortened(stated.value)!r} of the model is left out: {reason}."


def _shortened(text: str) -> str:
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"
