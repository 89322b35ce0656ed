"""Finds the issuer of a document: the organisation that the document names most often.

Candidates are names on the first pages that end with a legal form, such as "Inc." or "GmbH". The list of legal forms
comes from cleanco. Only this module uses cleanco.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache

from ingest.document import Fact
from ingest.facts.opening import WORD, Opening

_ALONE = 3  # minimum mentions of a name that is a whole line on the first pages
_WITHIN = 10  # minimum mentions of a name within a line; an article names the companies in it less often
_LEAD = 2.0  # minimum ratio of the mentions to those of any other organisation on the first pages
_WHOLE = 0.8  # minimum share of mentions that include the leading words, for these to be part of the name
_COMMON = 0.2  # share of a word's uses in lower case; a proper name has a smaller share


def find_issuer(opening: Opening) -> Fact | None:
    """Return the organisation with the most mentions, or None if it has too few or no clear lead.

    A name that is a whole line needs fewer mentions than a name within a line, because the covers of reports print the
    issuer on its own line.
    """
    mentions = _Mentions(opening.whole)
    places = list(_places(opening.text, mentions))
    alone = [(start, end) for start, end in places if _line(opening.text, start, end) == opening.text[start:end]]
    for candidates, least in ((alone, _ALONE), (places, _WITHIN)):
        if place := _most_named(candidates, least, mentions, opening.text):
            return opening.fact(*place, mentions.spelling(opening.text[slice(*place)]))
    return None


def _places(text: str, mentions: _Mentions) -> Iterator[tuple[int, int]]:
    """Yield the span of each name that ends with a legal form."""
    for match in _name().finditer(text):
        starts = [match.start() + word.start() for word in re.finditer(r"\S+", match["own"])]
        counts = [mentions.count(text[start : match.end()]) for start in starts]
        start = next(start for start, count in zip(starts, counts, strict=True) if count >= _WHOLE * counts[-1])
        own = [word for word in WORD.findall(text[start : match.end("own")]) if word.casefold() not in _forms()]
        form = match["form"].strip(", \t")
        # "The Company" is not a proper name, and "AT" in a line of capitals is not a Ukrainian legal form.
        if any(len(word) > 2 and mentions.is_proper(word) for word in own) and (
            len(form) > 2 or mentions.is_proper(form)
        ):
            yield start, match.end()


def _line(text: str, start: int, end: int) -> str:
    after = text.find("\n", end)
    return text[text.rfind("\n", 0, start) + 1 : after if after >= 0 else len(text)].strip()


def _most_named(
    places: Iterable[tuple[int, int]], least: int, mentions: _Mentions, text: str
) -> tuple[int, int] | None:
    counts = {(start, end): mentions.count(text[start:end]) for start, end in places}
    best = max(counts, key=lambda place: counts[place], default=None)
    if best is None or counts[best] < least:
        return None
    name = _plain(text[slice(*best)])
    others = [count for place, count in counts.items() if _plain(text[slice(*place)]) != name]
    return best if counts[best] >= _LEAD * max(others, default=0) else None


class _Mentions:
    """Counts names and words in a text."""

    def __init__(self, text: str) -> None:
        self._text = " ".join(text.split())
        self._folded = self._text.casefold()
        self._words = Counter(WORD.findall(self._text))
        self._uses: Counter[str] = Counter()
        self._counts: dict[str, int] = {}
        for word, uses in self._words.items():
            self._uses[word.casefold()] += uses

    def count(self, name: str) -> int:
        """Return how often the name occurs. Case does not matter."""
        plain = _plain(name)
        if plain not in self._counts:
            self._counts[plain] = self._folded.count(plain)
        return self._counts[plain]

    def is_proper(self, word: str) -> bool:
        """Return whether the word is rarely in lower case."""
        folded = word.casefold()
        return self._words[folded] < _COMMON * self._uses[folded]

    def spelling(self, name: str) -> str:
        """Return the most frequent spelling of the name. Prefers spellings that are not all capitals."""
        found = Counter(re.findall(re.escape(_plain(name)) + r"\.?", self._text, re.IGNORECASE))
        mixed = {spelling: count for spelling, count in found.items() if not spelling.isupper()}
        return max(mixed or found, key=lambda spelling: found[spelling], default=" ".join(name.split()))


def _plain(name: str) -> str:
    return " ".join(name.split()).casefold().rstrip(".")


@cache
def _forms() -> frozenset[str]:
    """Return the legal forms in lower case, without a final full stop."""
    from cleanco.termdata import terms_by_country, terms_by_type

    terms = [term for table in (terms_by_type, terms_by_country) for found in table.values() for term in found]
    return frozenset(term.strip().rstrip(".") for term in terms)


@cache
def _name() -> re.Pattern[str]:
    """Return the pattern of a name on one line: words that start with a capital or a digit, then a legal form.

    A legal form of two letters must not follow a comma: in American addresses, a state code does.
    """
    forms = sorted(_forms(), key=len, reverse=True)
    words = "|".join(
        rf"{form[0].upper()}(?i:{re.escape(form[1:])})" for form in forms if len(form) > 3 and form.isalpha()
    )
    others = "|".join(re.escape(form) for form in forms if len(form) == 3 or (len(form) > 3 and not form.isalpha()))
    short = "|".join(f"{form.upper()}|{form.title()}" for form in forms if len(form) == 2)
    first = r"[^\W_a-z][\w.'’&-]*"
    word = rf"(?:{first}|&|[^\W\d_]{{2,3}})"
    own = rf"(?P<own>{first}(?:,?[ \t]+{word}){{0,7}}?)"
    form = rf"(?P<form>,?[ \t]+(?:{words}|(?i:{others}))|[ \t]+(?:{short}))"
    return re.compile(rf"\b{own}{form}(?!\w)\.?")
