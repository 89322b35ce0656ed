"""Finds the currency of a document: the currency of most of its amounts.

Only this module uses the currency data of Babel.
"""

import re
import unicodedata
from collections import Counter
from functools import cache

from ingest.document import Fact
from ingest.facts.opening import Opening

_MENTIONS = 5  # minimum number of amounts in the currency
_SHARE = 0.8  # minimum share of all amounts that have a currency
_PLANES = 0x20000  # code points to search: the first two planes of Unicode contain all currency signs
_LETTER = r"[^\W\d_]"
_AMOUNTS = 0.2  # minimum share of a sign's uses next to an amount; TeX encloses formulas in dollar signs


def find_currency(opening: Opening) -> Fact | None:
    """Return the currency of the document, or None.

    At least five amounts, and at least 80 % of the amounts that have a currency, must be in it. The value is the ISO
    code, or the symbol if several currencies share it, such as ``$``.
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


def printed_currency(code: str, line: str, language: str) -> str:
    """Return the ISO code or the symbol of the currency as printed on the line, or "" if the line has neither."""
    plain = unicodedata.normalize("NFKC", line)
    for mark in sorted(_marks(code, language), key=lambda each: (-len(each), each)):
        # The "$" in "US$" is not a Canadian dollar, and the "R" in "Report" is not a rand.
        after = rf"(?!{_LETTER})" if mark[-1].isalpha() else ""
        if found := re.search(rf"(?<!{_LETTER}){re.escape(mark)}{after}", plain):
            return found[0]
    return ""


@cache
def _marks(code: str, language: str) -> frozenset[str]:
    """Return the ISO code and its CLDR symbols, or an empty set if CLDR does not know the code.

    The symbols are those of the root locale, English, the given language and the territories that use the currency.
    """
    from babel import Locale, UnknownLocaleError
    from babel.core import get_global

    if code not in Locale.parse("en").currencies:
        return frozenset()
    places = [
        place
        for place, used in get_global("territory_currencies").items()
        if any(currency == code and end is None for currency, _, end, *_ in used)
    ]
    symbols = {code}
    for name in ("root", "en", language or "en", *(f"und_{place}" for place in places)):
        try:
            symbols.add(unicodedata.normalize("NFKC", Locale.parse(name).currency_symbols.get(code) or code))
        except (UnknownLocaleError, ValueError):
            continue
    return frozenset(symbols)


@cache
def _pattern() -> tuple[re.Pattern[str], dict[str, str]]:
    """Return the pattern of a currency next to an amount, and a mapping from symbols and codes to ISO codes."""
    from babel import Locale

    symbols = {symbol: code for code, symbol in Locale.parse("root").currency_symbols.items()}
    signs = "".join(each for each in map(chr, range(_PLANES)) if unicodedata.category(each) == "Sc")
    iso = sorted(map(str, Locale.parse("en").currency_symbols))
    long = [re.escape(symbol) for symbol in sorted(symbols, key=len, reverse=True) if len(symbol) > 1]
    mark = rf"(?<!\w)(?:{'|'.join(long)})|[{re.escape(signs)}]"
    code = "|".join(iso)
    large = r"\d{1,3}(?:[.,' ]\d{3}){1,6}|\d{1,9}[.,]\d"  # "TOP 10" is not an amount in Tongan paʻanga
    before = rf"(?P<sign>{mark})['’]?\s?\|?\s?\(?\d|\b(?P<code>{code})\s?(?:{large})"
    after = rf"\d\s?(?P<signafter>{mark})(?!\s?\d)|(?:{large})\d{{0,9}}\s?(?P<codeafter>{code})\b"
    return re.compile(f"{before}|{after}"), symbols | {each: each for each in iso}
