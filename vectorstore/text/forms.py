"""Further forms of the words of a text, beside the plain words that BM25's encoder finds itself.

The encoder knows runs of letters and digits. People also write and type words with signs, numbers and dates in several
forms, and letters that others fold:

    C++ → cplusplus             Node.js → nodejs            1,234 → 1234           naïve → naive
    AT&T → atandt               U.S.S.R. → ussr             50 °C → 50degrees      CO₂ → co2
    v2.3.1 → v2d3d1, 2d3d1      camelCase → camel, case     12.03.2021 → 20210312  Müller → muller, mueller
    infor- at a line end, then mation → information        White River → qzxnamewhiteriver
    12,499.00 → 12499d00, 12499                            30 × 40 mm → 30x40

Every form is one word for the encoder. Passages get the forms of their words, and queries those of theirs, so two
spellings meet in a form that they share. Signs between two digits are named, because 3/4 is not 34.
"""

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from vectorstore.text.dates import dates

_SIGNS = str.maketrans({
    "‐": "-", "‑": "-", "‒": "-", "–": "-", "−": "-", "’": "'", "ʼ": "'", "＇": "'",
})  # fmt: skip
TYPOGRAPHIC = _SIGNS | str.maketrans({"‘": "'"})
"""Apostrophes and dashes as people type them. In words, ‘ is also a letter: Hawai‘i."""
# Letters that do not decompose into a base letter and marks.
_LETTERS = _SIGNS | str.maketrans({
    "æ": "ae", "œ": "oe", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i", "ħ": "h",
    "ي": "ی", "ى": "ی", "ك": "ک", "ة": "ه", "ـ": "",
})  # fmt: skip
_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
_SUPERSCRIPTS = re.compile("[⁰¹²³⁴-⁹⁺⁻]+")

_NAMES = {
    "+": "plus", "#": "sharp", "&": "and", "^": "pow", "§": "section", "°": "degrees", "%": "percent", "‰": "permille",
    "€": "euro", "$": "dollar", "£": "pound", "¥": "yen", "@": "at",
}  # fmt: skip
"""Names of signs that belong to a word, wherever they stand."""
_BETWEEN_DIGITS = {".": "d", ",": "k", "/": "s", "-": "m", ":": "c", "_": "u"}
_INNER_CAPITAL = re.compile("[a-z]{2}[A-Z]")
# Patterns begin with the characters that may be first, and then look behind them: so `re` is five times as fast.
BROKEN = re.compile(r"[-\u2010\u00ad](?<=\w.)\n(?=\w)")
"""A hyphen at a line end: that of the word, as in long-term, or one that only the line needs."""
_EDGES = re.compile(r"^[^\w.#§€$£¥°@&+/]+|[^\w+#°%‰€$£¥]+$")
_HUMP = re.compile(r"(?<=[a-z]{2})(?=[A-Z][a-z])")
_MONEY = re.compile(r"(€|\$|£|¥|EUR\b|USD\b|GBP\b)(?<!\w(?:EUR|USD|GBP))\s?(\d[\d.,'’  ]*)")
_UNITS = {
    "eur": "euro", "euro": "euro", "euros": "euro", "usd": "dollar", "dollar": "dollar", "dollars": "dollar",
    "gbp": "pound", "pounds": "pound", "percent": "percent", "prozent": "percent", "pourcent": "percent",
    **{each: each for each in ("nm", "µm", "mm", "cm", "m", "km", "km/h", "mph", "ft", "µg", "mg", "g", "kg")},
    **{each: each for each in ("ml", "l", "kw", "kwh", "mw", "w", "v", "hz", "mhz", "ghz", "kb", "mb", "gb", "tb")},
    **{each: each for each in ("db", "bar", "hpa", "kpa", "mpa", "kj", "kcal", "mah", "rpm", "ppm")},
}  # fmt: skip
"""Names of what is measured, by the words and signs behind a figure."""
_UNIT_WORDS = "|".join(sorted(_UNITS, key=len, reverse=True))
_UNIT = re.compile(rf"(?i)(\d(?<![\w.,/]\d)[\d.,'’]*)\s?(°\s?[CF]\b|[€$£¥%‰]|°|(?:{_UNIT_WORDS})(?![\w/²³]))")
_GROUPS = re.compile(r"\d(?<![\w.,/-]\d)\d{0,2}(?:[ \u00a0\u2009\u202f'’]\d{3})+(?:[.,]\d+)?(?![\w/-]|[.,]\d)")
_IBAN = re.compile(r"[A-Z](?<!\w[A-Z])[A-Z]\d{2}(?:[ \u00a0]?[A-Z0-9]{4}){2,7}(?:[ \u00a0]?[A-Z0-9]{1,3})?\b")
_PHONE = re.compile(
    r"[(+0](?<!\w.)(?:(?<=\()\d{3}\) ?\d{3}-\d{4}|"
    r"(?:(?<=\+)\d{1,3}|(?:(?<=0)|(?<=\()0)\d{1,5}\)?)(?:[ \u00a0/()-]{1,2}\d{1,8}){1,5})(?!\w)"
)
_LABELLED = re.compile(r"([A-Z](?<!\w[A-Z])[A-Z]{0,5})[ \u00a0](\d[\w./-]*\w|\d)(?!\w)")
_SIZES = re.compile(r"\d(?<![\w.,/]\d)[\d.,]*(?:\s?[x×]\s?\d[\d.,]*)+(?![\w/])", re.IGNORECASE)
_CONTRACTED = re.compile(r"^[^\W\d]+'[^\W\d]{1,2}$")  # such as don't and it's, whose parts are words
_POWER_OF_LETTER = re.compile(r"(?<=[^\W\d])\^")
_YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
_WORDS = re.compile(r"\w+")
NAME = "qzxname"
"""The prefix of terms for names."""
_PAIR = re.compile(r"([^\W\d_a-z](?<!\w.)[^\W\d_]+)(?=\s([^\W\d_a-z][^\W\d_]+))")
_NUMBER = re.compile(r"[-+]?\d+(?:[.,'’]\d+)*")
_THOUSANDS = re.compile(r"\d{1,3}(?:([.,'’])\d{3})(?:\1\d{3})*")
_POINT_GROUPS = frozenset(("da", "de", "el", "es", "id", "it", "nl", "pt", "ro", "sl", "tr", "vi"))
"""Languages in which 1.234 is more than a thousand, by Unicode CLDR."""
_PHONE_DIGITS = 7


class Forms(NamedTuple):
    """The further forms of a word. Who has one of ``whole`` has the word; ``parts`` and wider terms are less."""

    whole: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()


class Span(NamedTuple):
    """Words of a text that belong together, with their forms."""

    start: int
    end: int
    forms: Forms


def forms(text: str, language: str) -> list[str]:
    """Return the further forms of all words of a text."""
    found = [span.forms for span in compounds(text, language)]
    found += [token_forms(token, language) for token in BROKEN.sub("-", text).split() if not _is_plain(token)]
    return [form for each in found for form in (*each.whole, *each.parts)] + _with_letters(text) + _names(text)


def _is_plain(token: str) -> bool:
    """Return whether a token has only ASCII letters and no inner capital. Such a token has no further forms."""
    return token.isascii() and token.isalpha() and (token.islower() or not _INNER_CAPITAL.search(token))


def _names(text: str) -> list[str]:
    """Return a term for each two neighbouring words with capital letters, such as the parts of a name."""
    pairs = (found.groups() for found in _PAIR.finditer(text))
    return [NAME + fold(one + other) for one, other in pairs if one[0].isupper() and other[0].isupper()]


def _with_letters(text: str) -> list[str]:
    """Return the words that line ends break and whose letters the other forms fold."""
    words = BROKEN.sub("\0", text).split()
    broken = (core_of(word.replace("\0", "")) for word in words if "\0" in word)
    return [each.lower() for each in broken if not each.isascii() and each.isalpha()]


def compounds(text: str, language: str) -> Iterator[Span]:
    """Yield what is written in several words: amounts, grouped numbers, IBANs, telephone numbers, dates, labels."""
    if not any(map(str.isdigit, text)):
        return
    for found in _MONEY.finditer(text):
        yield Span(*found.span(), _measured(found[2], _unit_of(found[1]), language))
    for found in _UNIT.finditer(text):
        yield Span(*found.span(), _measured(found[1], _unit_of(found[2]), language))
    for found in _GROUPS.finditer(text):
        yield Span(*found.span(), Forms(_amounts("".join(found[0].split()), language)))
    for found in _IBAN.finditer(text):
        yield Span(*found.span(), Forms(("".join(found[0].split()).casefold(),)))
    for found in _PHONE.finditer(text):
        if len(_digits(found[0])) >= _PHONE_DIGITS:
            yield Span(*found.span(), Forms(_phone(found[0])))
    for found in _LABELLED.finditer(text):
        yield Span(*found.span(), Forms((_joined(fold(found[1] + found[2])),)))
    for found in _SIZES.finditer(text):
        yield Span(*found.span(), Forms((_joined(fold("".join(found[0].split()).replace("×", "x").rstrip(".,"))),)))
    for start, end, (date, *month) in dates(text, language):
        yield Span(start, end, Forms((date,), tuple(month)))


@lru_cache(maxsize=20_000)  # words repeat within documents
def token_forms(token: str, language: str) -> Forms:
    """Return the further forms of one run without blanks; none for a plain word."""
    core = core_of(token)
    folded = fold(core)
    if not any(map(str.isalnum, folded)):
        return Forms()
    if _CONTRACTED.search(folded):  # Zoë's
        return Forms() if core.isascii() else token_forms(core.translate(_SIGNS).partition("'")[0], language)
    plain = core.lower()
    parts = [part.casefold() for part in _HUMP.split(core)] if _HUMP.search(core) else []
    variants = [] if core.isascii() and "^" not in core else [folded, fold(plain.translate(_UMLAUTS))]
    if folded.isalnum():
        return Forms(tuple(each for each in dict.fromkeys(variants) if each != plain), tuple(parts))
    parts += [_POWER_OF_LETTER.sub("", each) for each in variants if _POWER_OF_LETTER.search(each)]  # m² as m2
    parts += [part for each in variants for part in _WORDS.findall(each) if part not in plain]
    whole = [*_numbers(folded, language), *map(_joined, variants or [folded])]
    whole += [*_without_version(folded), *_long_number(folded)]
    return Forms(tuple(each for each in dict.fromkeys(whole) if each), tuple(dict.fromkeys(parts)))


def core_of(token: str) -> str:
    """Return a run without blanks without the punctuation around it."""
    core = _EDGES.sub("", token)
    if core.startswith(".") and not core[1:2].isalpha():
        core = core[1:]
    return core.lstrip("/&") if not any(map(str.isdigit, core)) else core.lstrip("/&+")


def is_code(folded: str) -> bool:
    """Return whether a folded word looks like an identifier. Years and numbers below 1,000 do not."""
    if folded.isdigit():
        return len(folded) > 3 and not _YEAR.fullmatch(folded)
    return any(each.isdigit() or each in _NAMES or each == "_" for each in folded)


def fold(text: str) -> str:
    """Return the text in lower case with base letters: ï as i, ß as ss, ₂ as 2, ⁶ as ^6, typographic signs as ASCII."""
    if text.isascii():
        return text.casefold()
    text = _SUPERSCRIPTS.sub(lambda found: f"^{found[0]}", text)
    decomposed = unicodedata.normalize("NFKD", text.casefold().translate(_LETTERS))
    return "".join(each for each in decomposed if unicodedata.category(each) != "Mn").translate(_LETTERS)


def _numbers(folded: str, language: str) -> Iterator[str]:
    if _NUMBER.fullmatch(folded) and not folded.isdigit():
        yield from _amounts(folded, language)


def number(text: str, language: str) -> str:
    """Return a number without signs for thousands, and with ``d`` for the decimal point: 1,234.5 as 1234d5."""
    text = text.strip("+-.,'’ ")
    marks = [sign for sign in text if sign in ".,"]
    if len(set(marks)) == 2:  # the last one is the decimal point
        whole, _, part = text.rpartition(marks[-1])
        return f"{_digits(whole)}d{part}"
    grouped = _THOUSANDS.fullmatch(text)
    if grouped and (len(marks) > 1 or grouped[1] in "'’" or (grouped[1] == ".") == (language in _POINT_GROUPS)):
        return _digits(text)
    return re.sub("[.,]", "d", re.sub("['’ ]", "", text))


def _amounts(text: str, language: str) -> tuple[str, ...]:
    """Return the forms of a number. One of 100 and more has a form without zeros at its end: 12499 for 12499.00.

    Smaller ones, and those that begin with a year, may be numbers of versions: 2.10 is not 2.1.
    """
    value = number(text, language)
    whole, _, part = value.partition("d")
    shorter = part.rstrip("0")
    if shorter == part or len(whole) < 3 or (shorter and _YEAR.fullmatch(whole)):
        return (value,)
    return (value, f"{whole}d{shorter}" if shorter else whole)


def _unit_of(text: str) -> str:
    unit = text.casefold().replace("μ", "µ")
    return (_UNITS.get(unit) or _NAMES[unit[0]]).replace("/", "").replace("µ", "u")


def _measured(amount: str, unit: str, language: str) -> Forms:
    values = _amounts("".join(amount.split()), language)
    plural = ("", "s") if unit[-1] != "s" else ("",)
    return Forms(tuple(f"{value}{unit}{end}" for value in values for end in plural))


def _joined(folded: str) -> str:
    """Return a folded word with signs as one word."""
    return "".join(_named(folded, at) for at in range(len(folded)))


def _named(folded: str, at: int) -> str:
    sign = folded[at]
    if sign.isalnum():
        return sign
    before, after = folded[at - 1 : at], folded[at + 1 : at + 2]
    if before.isdigit() and after.isdigit() and sign in _BETWEEN_DIGITS:
        return _BETWEEN_DIGITS[sign]
    if at == 0 and sign == "." and after.isalpha():
        return "dot"
    return _NAMES.get(sign, "")


def _without_version(folded: str) -> Iterator[str]:
    if re.fullmatch(r"v\d+(?:\.\d+)+", folded):
        yield _joined(folded[1:])


def _long_number(folded: str) -> Iterator[str]:
    digits = _digits(folded)
    if len(digits) >= _PHONE_DIGITS and re.fullmatch(r"\+?[\d/()-]+", folded):
        yield from _phone(folded)


def _phone(text: str) -> tuple[str, ...]:
    """Return the digits, and for an international number also those of the number inside the country."""
    digits = _digits(text)
    inside = re.fullmatch(r"\+\d{1,3}[ \u00a0/()-]+(?:\(?0\)?)?(.+)", text)
    return (digits, f"0{_digits(inside[1])}", _digits(inside[1])) if inside else (digits,)


def _digits(text: str) -> str:
    return "".join(filter(str.isdecimal, text))
