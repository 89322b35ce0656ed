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
_PARTS, _SPREAD = 10, 4  # equal parts of a document, and those in which the issuer's own word must occur
_NAMED_WORDS = 3  # minimum own words of a name of common words, such as "Creative Media & Community Trust Corporation"
_SHORT = 2_000  # characters of a part; a document with shorter parts is short
_BEFORE = 100  # characters before a mention in which its leading words are
_COMMON = 0.2  # share of a word's uses in lower case; a proper name has a smaller share


def find_issuer(opening: Opening) -> Fact | None:
    """Return the organisation with the most mentions, or None if it has too few or no clear lead.

    A name that is a whole line needs fewer mentions than a name within a line, because the covers of reports print the
    issuer on its own line.
    """
    mentions = _Mentions(opening.whole)
    places = list(_places(opening.text, mentions))
    alone = [(start, end) for start, end in places if opening.line(start, end) == opening.text[start:end]]
    for candidates, least in ((alone, _ALONE), (places, _WITHIN)):
        if place := _most_named(candidates, least, mentions, opening.text):
            return opening.fact(*place, mentions.spelling(opening.text[slice(*place)]))
    return None


def _places(text: str, mentions: _Mentions) -> Iterator[tuple[int, int]]:
    """Yield the span of each name that ends with a legal form."""
    for match in _name().finditer(text):
        starts = [match.start() + word.start() for word in re.finditer(r"\S+", match["own"])]
        whole = mentions.whole_names(text[starts[-1] : match.end()])
        start = max(starts, key=lambda start: whole[_plain(text[start : match.end()])])
        own = [word for word in WORD.findall(text[start : match.end("own")]) if word.casefold() not in _forms()]
        form = match["form"].strip(", \t")
        # "The Company" is not a proper name, and "AT" in a line of capitals is not a Ukrainian legal form.
        long = [word for word in own if len(word) > 2]
        if (len(long) >= _NAMED_WORDS or any(map(mentions.is_proper, long))) and (
            len(form) > 2 or mentions.is_proper(form)
        ):
            yield start, match.end()


def _most_named(
    places: Iterable[tuple[int, int]], least: int, mentions: _Mentions, text: str
) -> tuple[int, int] | None:
    counts = {(start, end): mentions.count(text[start:end]) for start, end in places}
    best = max(counts, key=lambda place: counts[place], default=None)
    if best is None or counts[best] < least or not mentions.is_spread(text[slice(*best)]):
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
        self._whole: dict[str, Counter[str]] = {}
        self._lines = text
        for word, uses in self._words.items():
            self._uses[word.casefold()] += uses

    def count(self, name: str) -> int:
        """Return how often the name occurs. Case does not matter."""
        plain = _plain(name)
        if plain not in self._counts:
            self._counts[plain] = self._folded.count(plain)
        return self._counts[plain]

    def whole_names(self, name: str) -> Counter[str]:
        """Count the names that end with this one, with the leading words that they have on their lines."""
        plain = _plain(name)
        if plain not in self._whole:
            pattern = re.compile(r"\s+".join(map(re.escape, plain.split())), re.IGNORECASE)
            starts = (match.start() for match in pattern.finditer(self._lines))
            leading = re.compile(rf"\b{_WORDS}[ \t]+$")  # the words of a name before its end, on the same line
            befores = (leading.search(self._lines, max(start - _BEFORE, 0), start) for start in starts)
            self._whole[plain] = Counter(_plain(f"{before[0] if before else ''}{plain}") for before in befores)
        return self._whole[plain]

    def is_spread(self, name: str) -> bool:
        """Return whether the most frequent own word of the name occurs all over the document.

        The stock exchange and the auditor have their places; the issuer is everywhere. A short document has no parts.
        """
        size = len(self._folded) / _PARTS
        if size < _SHORT:
            return True
        own = [word.casefold() for word in WORD.findall(name) if word.casefold() not in _forms() and len(word) > 2]
        word = max(own, key=lambda word: self._uses[word] if self.is_proper(word) else 0)
        found = re.finditer(rf"\b{re.escape(word)}\b", self._folded)
        return len({int(match.start() / size) for match in found}) >= _SPREAD

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


_FIRST = r"[^\W_a-z][\w.'’&-]*"  # a word of a name starts with a capital or a digit
_WORDS = rf"{_FIRST}(?:,?[ \t]+(?:{_FIRST}|&|[^\W\d_]{{2,3}})){{0,7}}"


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
    own = rf"(?P<own>{_WORDS}?)"
    form = rf"(?P<form>,?[ \t]+(?:{words}|(?i:{others}))|[ \t]+(?:{short}))"
    return re.compile(rf"\b{own}{form}(?!\w)\.?")
