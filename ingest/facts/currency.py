"""The currency of a document: the one next to most of its amounts. Owns the use of Babel's currencies."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import cache

from ingest.document import Fact
from ingest.facts.opening import Opening

_MENTIONS = 5
_SHARE = 0.8
_PLANES = 0x20000  # the first two planes of Unicode have all letters and currency signs
_AMOUNTS = 0.2  # share of a sign's uses that are next to an amount; formulas in TeX stand between dollar signs


def find_currency(opening: Opening) -> Fact | None:
    """Return the currency of at least 80 % of the amounts that have one, and of at least five.

    Its value is the ISO code, or the symbol where several currencies share it, such as ``$``.
    """
    pattern, codes = _pattern()
    counts: Counter[str] = Counter()
    places: dict[str, tuple[int, int]] = {}
    for match in pattern.finditer(opening.whole):
        start, end = match.span(match.lastgroup or 0)
        mark = match[match.lastgroup or 0]
        value = codes.get(mark, mark)
        counts[value] += 1
        places.setdefault(value, (start, end))
    value, most = next(iter(counts.most_common(1)), ("", 0))
    if most < _MENTIONS or most < _SHARE * counts.total():
        return None
    mark = opening.whole[slice(*places[value])]
    if most < _AMOUNTS * opening.whole.count(mark):
        return None
    return opening.fact(*places[value], value)


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return the pattern of a currency next to an amount, and the ISO codes by symbol and by code."""
    from babel import Locale

    symbols = {symbol: code for code, symbol in Locale.parse("root").currency_symbols.items()}
    signs = "".join(each for each in map(chr, range(_PLANES)) if unicodedata.category(each) == "Sc")
    iso = sorted(map(str, Locale.parse("en").currency_symbols))
    long = [re.escape(symbol) for symbol in sorted(symbols, key=len, reverse=True) if len(symbol) > 1]
    mark = rf"(?<!\w)(?:{'|'.join(long)})|[{re.escape(signs)}]"
    code = "|".join(iso)
    large = r"\d{1,3}(?:[.,' ]\d{3}){1,6}|\d{1,9}[.,]\d"  # so that "TOP 10" is no amount in Tongan paʻanga
    before = rf"(?P<sign>{mark})['’]?\s?\|?\s?\(?\d|\b(?P<code>{code})\s?(?:{large})"
    after = rf"\d\s?(?P<signafter>{mark})(?!\s?\d)|(?:{large})\d{{0,9}}\s?(?P<codeafter>{code})\b"
    return re.compile(f"{before}|{after}"), symbols | {each: each for each in iso}
