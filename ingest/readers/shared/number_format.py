"""Writes the numbers of spreadsheets and charts as their program shows them, by their format codes (ECMA-376, 18.8.31).

Dates are written in ISO form with the parts that the code shows, because the order of day and month of many codes
depends on the reader's computer.
"""

from __future__ import annotations

import datetime
import re
import tomllib
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

_STORED: dict[str, str] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
BUILT_IN = {int(number): code for number, code in _STORED.items()}
"""The codes of the identifiers that files do not define (ECMA-376, 18.8.30)."""
GENERAL = "General"

_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[(?P<elapsed>[hms]+)\]|\[[^\]]*\]'
    r"|(?P<general>General)|(?P<period>AM/PM|A/P|上午/下午)|(?P<date>[yY]+|[mM]+|[dD]+|[hH]+|[sS]+(?:\.0+)?|[eE](?![+-])|[gG]+)"
    r"|(?P<power>[eE][+-]0+)|(?P<digits>[0#?]+)|(?P<sign>[.,%/@])|(?P<literal>.)",
    re.DOTALL | re.IGNORECASE,
)
_CONDITION = re.compile(r"\[(<=|>=|<>|<|>|=)(-?[\d.]+)\]")
_SECTION = re.compile(r'(?:"[^"]*"?|\\.|\[[^\]]*\]|[^;"\\\[])*', re.DOTALL)
_EPOCH, _EPOCH_1904 = (
    datetime.datetime(1899, 12, 30, tzinfo=datetime.UTC),
    datetime.datetime(1904, 1, 1, tzinfo=datetime.UTC),
)
_MAX_DAYS = 2_958_466  # the first day after the year 9999
_LEAP_DAY = 60  # 29 February 1900, which spreadsheets count although it did not exist
_LARGE = 1e25  # beyond this, formats are not applied
_EXACT = 15  # significant digits that spreadsheets show


class _Part(NamedTuple):
    kind: str
    text: str


_TEXT = _Part("sign", "@")


def format_number(value: float, code: str, *, from_1904: bool = False) -> str:
    """Return the number as its program shows it with this format code."""
    section, is_shown_negative = _section(value, code)
    parts = _parts(section)
    if not section and len(_sections(code)) > 1:  # hides the value
        return ""
    if not parts or any(part.kind == "general" for part in parts):
        shown = general(abs(value) if is_shown_negative else value)
        return "".join(shown if part.kind == "general" else part.text for part in parts if part.kind in _SHOWN) or shown
    if any(part.kind in ("date", "elapsed") for part in parts):
        return _time(value, parts, from_1904=from_1904)
    return _figure(abs(value) if is_shown_negative else value, parts)


def general(value: float) -> str:
    """Return a number without a format: 15 significant digits, as spreadsheets store them."""
    shown = f"{value:.{_EXACT}g}"
    return f"{value:.0f}" if "e+" in shown and abs(value) < 1e20 else shown.upper()


def format_text(text: str, code: str) -> str:
    """Return text as its program shows it with this format code.

    The fourth section of the code is for text. With fewer sections, the last one is if it contains ``@``.
    """
    sections = _sections(code)
    parts = _parts(sections[min(len(sections), 4) - 1])
    if len(sections) < 4 and _TEXT not in parts:
        return text
    return "".join(text if each == _TEXT else each.text for each in parts)


@lru_cache(maxsize=1024)
def _sections(code: str) -> tuple[str, ...]:
    sections, position = [], 0
    while position <= len(code):
        found = _SECTION.match(code, position)
        end = found.end() if found else len(code)
        sections.append(code[position:end])
        position = end + 1
    return tuple(sections)


def _section(value: float, code: str) -> tuple[str, bool]:
    """Return the section of the code for the value, and whether the section itself shows that it is negative."""
    sections = _sections(code)[:3]
    conditions = [_CONDITION.search(section) for section in sections]
    if any(conditions):
        for section, condition in zip(sections, conditions, strict=True):
            if condition is None or _holds(value, condition[1], float(condition[2])):
                is_negative = condition is not None and condition[1][0] == "<" and float(condition[2]) <= 0
                return section, is_negative or (value < 0 and "-" not in section and condition is None)
        return sections[-1], False
    if value < 0 and len(sections) > 1:
        return sections[1], True
    if value == 0 and len(sections) > 2:
        return sections[2], False
    return sections[0], False


def _holds(value: float, sign: str, limit: float) -> bool:
    return {
        "<": value < limit, "<=": value <= limit, ">": value > limit, ">=": value >= limit, "=": value == limit,
    }.get(sign, value != limit)  # fmt: skip


_SHOWN = ("literal", "general")


@lru_cache(maxsize=1024)
def _parts(section: str) -> tuple[_Part, ...]:
    parts = []
    for token in _TOKEN.finditer(section):
        for kind in ("quoted", "escaped", "currency", "literal"):
            if token[kind] is not None:
                parts.append(_Part("literal", token[kind]))
        for kind in ("elapsed", "general", "period", "date", "power", "digits", "sign"):
            if token[kind] is not None:
                parts.append(_Part(kind, token[kind]))
    return tuple(parts)


# Figures

_POINTS = (_Part("sign", "."), _Part("sign", ","))


def _figure(value: float, parts: tuple[_Part, ...]) -> str:
    """Return a number in the digits of a section, with its literals where they stand."""
    is_digits = [index for index, part in enumerate(parts) if part.kind in ("digits", "power") or part in _POINTS]
    placeholders = "".join(part.text for part in parts if part.kind == "digits" or part in _POINTS)
    if abs(value) >= _LARGE:
        return general(value)
    if not any(part.kind == "digits" for part in parts):
        return "".join(general(value) if part.text == "@" else part.text for part in parts)
    percents = sum(part == _Part("sign", "%") for part in parts)
    number = Decimal(repr(value)) * 100**percents
    if any(part == _Part("sign", "/") for part in parts):
        return _fraction(number, parts)
    whole, _, decimals = placeholders.partition(".")
    scaled = len(whole) - len(whole.rstrip(",")) if not decimals else len(placeholders) - len(placeholders.rstrip(","))
    number /= Decimal(1000) ** scaled
    power = next((part.text for part in parts if part.kind == "power"), "")
    digits = _digits(number, whole, decimals.rstrip(","), power)
    first, last = is_digits[0], is_digits[-1]
    before = "".join(part.text for part in parts[:first])
    inside = "".join(part.text for part in parts[first:last] if part.kind == "literal")
    after = "".join(part.text for part in parts[last + 1 :])
    sign = "-" if number < 0 and digits.strip("0.,") else ""
    if inside:  # digits with literals between them, such as 000-00-0000
        return sign + before + _spread(digits, parts[first : last + 1]) + after
    return f"{sign}{before}{digits}{after}".strip()


def _digits(number: Decimal, whole: str, decimals: str, power: str) -> str:
    """Return the absolute number with the digits that the placeholders ask for."""
    number = abs(number)
    if power:
        step = max(len(whole), 1)  # of the exponent: ##0.0E+0 shows multiples of three
        exponent = number.adjusted() // step * step if number else 0
        mantissa = number.scaleb(-exponent)
        digits = _digits(mantissa, whole, decimals, "")
        if Decimal(digits) >= 10**step:
            digits, exponent = _digits(mantissa.scaleb(-step), whole, decimals, ""), exponent + step
        sign = "-" if exponent < 0 else "+" if power[1] == "+" else ""
        return f"{digits}E{sign}{abs(exponent):0{len(power) - 2}}"
    rounded = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    before, _, after = f"{rounded:f}".partition(".")
    for sign in reversed(decimals):
        if sign == "0" or not after.endswith("0"):
            break
        after = after[:-1]
    least = len(whole.replace(",", "").lstrip("#?"))  # a zero asks for its digit and for all to the right of it
    before = before.lstrip("0").zfill(least) if least else before.lstrip("0")
    if "," in whole.rstrip(","):
        before = f"{int(before or 0):,}".zfill(least) if before else before
    return f"{before}.{after}" if after else before


def _spread(digits: str, parts: tuple[_Part, ...]) -> str:
    """Return the digits, from the right, in placeholders with literals between them."""
    left = list(digits)
    shown: list[str] = []
    for index, part in enumerate(reversed(parts)):
        is_first = index == len(parts) - 1
        if part.kind == "literal":
            shown.append(part.text)
        elif part.kind == "digits":
            count = len(left) if is_first else len(part.text)
            shown.append("".join(left[max(len(left) - count, 0) :]))
            del left[max(len(left) - count, 0) :]
    return "".join(reversed(shown))


def _fraction(number: Decimal, parts: tuple[_Part, ...]) -> str:
    slash = parts.index(_Part("sign", "/"))
    below = parts[slash + 1] if slash + 1 < len(parts) else _Part("digits", "?")
    mixed = sum(part.kind == "digits" for part in parts[:slash]) > 1
    is_fixed = below.text.isdecimal() and below.text.strip("0") != ""
    whole, rest = divmod(abs(number), 1) if mixed else (Decimal(0), abs(number))
    if is_fixed:
        fraction = Fraction(round(rest * int(below.text)), 1)
        above, under = fraction.numerator, int(below.text)
    else:
        fraction = Fraction(rest).limit_denominator(10 ** len(below.text) - 1)
        above, under = fraction.numerator, fraction.denominator
    if mixed and above == under:
        whole, above = whole + 1, 0
    shown = (
        f"{whole} {above}/{under}"
        if mixed and whole and above
        else f"{whole}"
        if mixed and not above
        else f"{above}/{under}"
    )
    return ("-" if number < 0 else "") + shown


# Dates and times


def _time(value: float, parts: tuple[_Part, ...], *, from_1904: bool) -> str:
    """Return a date, a time or a duration with the parts that the code shows."""
    if any(part.kind == "elapsed" for part in parts):
        return _duration(value, parts)
    if not 0 <= value < _MAX_DAYS:
        return general(value)
    days = value + (1 <= value < _LEAP_DAY and not from_1904)
    moment = (_EPOCH_1904 if from_1904 else _EPOCH) + datetime.timedelta(days=days)
    seconds = "".join(part.text for part in parts if part.kind == "date" and part.text[0] in "sS")
    decimals = len(seconds.partition(".")[2])
    if any(part.text[0] in "hHsS" for part in parts if part.kind == "date"):  # the time is a fraction of a day
        unit = datetime.timedelta(seconds=10**-decimals if seconds else 60)
        moment = _EPOCH + round((moment - _EPOCH) / unit) * unit
    shown = "".join(part.text[0].lower() for part in parts if part.kind == "date")
    date = _date(moment, shown, parts)
    if "h" not in shown and "s" not in shown:
        return date
    if "h" not in shown:
        clock = f"{moment:%M:%S}"
    else:
        clock = f"{moment:%H:%M:%S}" if seconds else f"{moment:%H:%M}" if "m" in shown else f"{moment:%H} h"
    fraction = f".{moment:%f}"[: decimals + 1] if decimals else ""
    return f"{date} {clock}{fraction}".strip()


def _date(moment: datetime.datetime, shown: str, parts: tuple[_Part, ...]) -> str:
    has_year, has_day = "y" in shown or "e" in shown, "d" in shown
    has_month = "m" in shown.replace("hm", "h").replace("ms", "s")
    if has_day and not has_year and not has_month:  # the name of a day, or its number
        names = any(part.kind == "date" and len(part.text) > 2 and part.text[0] in "dD" for part in parts)
        return f"{moment:%A}" if names else str(moment.day)
    if has_year and has_day:
        return f"{moment:%Y-%m-%d}"
    if has_year:
        return f"{moment:%Y-%m}" if has_month else f"{moment:%Y}"
    if has_month:
        return f"{moment:%d %B}".lstrip("0") if has_day else f"{moment:%B}"
    return ""


def _duration(value: float, parts: tuple[_Part, ...]) -> str:
    """Return a duration, such as ``31:30`` hours."""
    largest = next(part.text[0].lower() for part in parts if part.kind == "elapsed")
    times = [part.text for part in parts if part.kind in ("date", "elapsed")]
    shown = "".join(text for text in times if text[0] in "sS")
    has_seconds = bool(shown)
    decimals = len(shown.partition(".")[2])
    has_minutes = any(text[0] in "mM" for text in times)
    seconds, fraction = divmod(round(abs(value) * 86400 * 10**decimals), 10**decimals)
    if not has_seconds:
        seconds = round(seconds / 60) * 60
    sign = "-" if value < 0 else ""
    after = f".{fraction:0{decimals}}" if decimals else ""
    if largest == "s":
        return f"{sign}{seconds}{after}"
    minutes = seconds // 60
    tail = f":{seconds % 60:02}{after}" if has_seconds else ""
    if largest == "m":
        return f"{sign}{minutes}{tail}"
    return f"{sign}{minutes // 60}:{minutes % 60:02}{tail}" if has_minutes else f"{sign}{minutes // 60}"


def is_time(code: str) -> bool:
    """Return whether the code shows dates, times or durations."""
    return any(part.kind in ("date", "elapsed") for part in _parts(_sections(code)[0]))
