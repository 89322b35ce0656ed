"""Splits text into content tokens, each with its operators (negation, bounds) and grammatical role.

    read("The valve must not be opened.", lexicon)  # valve, opened (negated, an obligation)

Figures include their unit or currency, and dates their parts. Function words are dropped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import cache, lru_cache
from typing import NamedTuple

from multi_agent.grounding.meaning.lexicon import Lexicon, peoples, quantities
from multi_agent.grounding.quotes import fold
from multi_agent.records.numbers_and_dates import read_number

_TOKEN = re.compile(
    r"\d{4}-\d{2}-\d{2}(?!\d)|\d{1,3}(?: \d{3})+(?![\d.,]*\d)|\d[\d.,']*\d(?::\d\d)+|\d+(?::\d\d)+|\d(?:[\d.,']*\d)?"
    r"|(?<![^\W\d_])[^\W\d_](?:\.[^\W\d_](?![^\W\d_]))+|(?:us|US|r|R)\$|°[^\W\d_]?|[^\W\d_]+[\d²³](?!\w)|[^\W\d_]+|[^\w\s]"
)
_NOT = re.compile(r"(?i)(?<=[a-z])n't\b")
_SHORTENED = re.compile(r"\b(1\d|20)(\d\d) ?(?:-{1,3}|/) ?(\d\d)\b(?![-\d]|\.? [^\W\d_]+ \d{4})")
_ABBREVIATED = "".join(rf"(?<!\b{each}\.)" for each in ("[A-Z]", "Mr", "Dr", "St", "Inc", "Corp", "Ltd"))
_SENTENCE = re.compile(rf"(?<=[.!?]){_ABBREVIATED}[\"')\]]* (?=[^a-z])|\n")
_OWNER = re.compile(
    r"\b((?!(?:It|He|She|That|There|What|Who|Let|Here)')(?:[A-Z][^\W\d_]+ )*[A-Z][^\W\d_]+)'s(?= [^\W\d_])"
)
"""A name in the possessive. "Ann's mother" is read as "of Ann mother"."""
_REPLACED = ((re.compile(r"(?i)\bcannot\b"), "can not"), (re.compile(r"(?i)\bwon't\b"), "will not"),
             (re.compile(r"(?i)\bno\. ?(?=\d)"), "number "), (_OWNER, r"of \1"), (re.compile(r"'s\b"), ""),
             (re.compile(r"(?<=[^\W\d_])/(?=[^\W\d_])"), " per "),
             (re.compile(r"(?i)\bdeclined(?= to (?:(?:about|around|nearly|almost|only|just) )?\S?\d)"), "fell"),
             (re.compile(r"(?i)\b(?:per cent|pour cent|por ciento)\b"), "percent"),
             (re.compile(r"(?i)\b(milli\w+|mill[oó]n(?:es)?) d(?:e |')"), r"\1 "),
             (re.compile(r"\bQ([1-4])\b"), r"\1th quarter"), (re.compile(r"\$ ?US\b"), "US$"),
             (re.compile(r"(?<=[$€£])m\b"), " million"), (re.compile(r"(?<!\w)['’]000s?\b"), " thousand"))  # fmt: skip
_DAY = re.compile(r"(?<!\d)(\d\d?)\. (?=([^\W\d_]+))")
_SCALED = r"(?:[mb]illi\w+|mio|mrd)(?: (?:euros?|dollars?))?"
_RANGE = re.compile(rf"\b(?!\d{{4}} )(\d[\d.,]*)(?= (?:to|and|bis|und) \S?\d[\d.,]* ({_SCALED}))")
_ORDINAL = frozenset({"st", "nd", "rd", "th"})
_YEARS = range(1000, 2101)
_BREAKS = frozenset(",;:()—|")
_ENDING = re.compile(r"[aeiouy].*(ed|ing)$")
_SPREADING = ("not", "said", "force", "former", "except")
_MONTH_LANGUAGES = ("en", "de", "fr", "es")
_ONLY_COUNT = "only:count"
Date = tuple[int | None, int | None, int | None]


class Token(NamedTuple):
    """A content word, name, figure or date of a sentence."""

    text: str
    sentence: int
    segment: int
    """The part of the sentence between commas and conjunctions."""
    governs: frozenset[str] = frozenset()
    """The operators directly before it."""
    within: frozenset[str] = frozenset()
    """The operators earlier in its segment, which may include it."""
    marker: str = ""
    """The preposition of its phrase."""
    predicate: bool = False
    """Whether "is" or "was" stands before it."""
    linked: bool = False
    """Whether "is" or "was" stands before it in its segment."""
    is_name: bool = False
    values: frozenset[Decimal] = frozenset()
    unit: str = ""
    dates: frozenset[Date] = frozenset()
    adjoins: bool = False
    """Whether no word stands between it and the token before it."""
    leads: bool = False
    """Whether it is the first of its segment."""
    joints: frozenset[str] = frozenset()
    """The commas, brackets, conjunctions, pronouns and articles that its segment begins with."""
    in_row: bool = False
    """Whether it is in a row of a table, whose segments are its cells."""
    written: str = ""
    """The text as it is written."""
    article: str = ""
    """The article before it, if its form shows the grammatical case, such as "den" in German."""

    @property
    def is_count(self) -> bool:
        """Whether it is a number in words. It may be a count of listed items, or no figure at all: "the large one"."""
        return bool(self.values) and self.written.isalpha()

    @property
    def ending(self) -> str:
        """Its "ed" or "ing", if it may be a form of a verb: not "red"."""
        found = _ENDING.search(self.text)
        return found[1] if found else ""

    @property
    def kind(self) -> str:
        return "date" if self.dates else "figure" if self.values else "name" if self.is_name else "word"


def share_segment(one: Token, other: Token) -> bool:
    """Return whether both tokens are in the same segment of a sentence."""
    return (one.sentence, one.segment) == (other.sentence, other.segment)


def normalized(text: str) -> str:
    """Return the text with contractions, shortened ranges and signs written out."""
    plain = _NOT.sub(" not", fold(text))
    for pattern, replacement in _REPLACED:
        plain = pattern.sub(replacement, plain)
    plain = _DAY.sub(lambda day: f"{day[1]} " if day[2].casefold() in _months() else day[0], plain)  # "3. Juni"
    return _RANGE.sub(r"\1 \2", _SHORTENED.sub(_written_out, plain))  # "7 to 11 billion"


def _written_out(span: re.Match[str]) -> str:
    century, first, last = span.groups()
    return f"{century}{first} - {century}{last}" if int(last) > int(first) else span[0]


def plain_words(text: str) -> tuple[str, ...]:
    """Return the words and figures in lower case."""
    return tuple(token.casefold() for token in _TOKEN.findall(normalized(text)) if token[0].isalnum())


@lru_cache(maxsize=256)  # the claims of an answer share a question, quotes and headings
def read(text: str, lexicon: Lexicon) -> tuple[Token, ...]:
    """Return the tokens of a text of one or more sentences. Rows of a table are sentences."""
    sentences = (each for line in text.splitlines() for each in _lines(line))
    return tuple(token for number, each in enumerate(sentences) for token in _Sentence(each, number, lexicon).tokens())


def _lines(line: str) -> list[str]:
    return [line] if line.startswith("|") else _SENTENCE.split(normalized(line))


class _Sentence:
    """One sentence while it is read."""

    def __init__(self, text: str, number: int, lexicon: Lexicon) -> None:
        self._raw = _TOKEN.findall(normalized(text))
        self._words = [word.casefold() for word in self._raw]
        self._number, self._lexicon = number, lexicon
        self._in_row = text.startswith("|")
        self._at = self._end = self._segment = 0
        self._pending: set[str] = set()
        self._within: set[str] = set()
        self._marker, self._adjacent, self._copula = "", False, False
        self._linked, self._joints, self._article = False, frozenset[str](), ""
        self._tokens: list[Token] = []

    def tokens(self) -> list[Token]:
        while self._at < len(self._words):
            self._at += self._date() or self._figure() or self._operator() or self._grammar() or self._content()
        self._end_pending()  # "three years later than he did"
        return self._tokens

    def _end_pending(self) -> None:
        """Let the pending operators govern the last token, as in "The cause is unclear and"."""
        if self._tokens and self._pending:
            last = self._tokens[-1]
            self._tokens[-1] = last._replace(governs=last.governs | self._pending)
            self._pending = set()

    def _date(self) -> int:
        found, length = _date_at(self._raw[self._at :], self._words[self._at :], inside=self._at > 0)
        if length:
            self._add(" ".join(self._words[self._at : self._at + length]), length, dates=found)
        return length

    def _figure(self) -> int:
        raw, words, at = self._raw, self._words, self._at
        before, sign = self._before_figure(at)
        digits, length = self._digits(at + before)
        if not length or (before and not raw[at + before][0].isdigit()):
            return 0
        values, end = frozenset(map(Decimal, digits)), at + before + length
        known = quantities()
        letters = frozenset[Decimal]()
        while power := known.scales.get(next(iter(words[end : end + 1]), "")):  # "two thousand million"
            values, end = frozenset(value * power for value in values), end + 1
        if end < len(raw) and raw[end] in ("M", "m", "B", "b"):
            letters = frozenset(value * (10**6 if raw[end] in "Mm" else 10**9) for value in values)
        unit, used = known.unit(raw[end : end + 3])
        if letters and (not used or raw[end] in ("M", "B") or self._currency(at, before)):
            values, end = letters, end + 1
            unit, used = known.unit(raw[end : end + 3])
        end += used
        unit = unit or self._currency(at, before)
        for phrase in self._lexicon.below_zero:
            if tuple(words[end : end + len(phrase)]) == phrase:
                sign, end = -1, end + len(phrase)
        if words[end : end + 1] and words[end] in _ORDINAL:
            unit, end = "ordinal", end + 1
        elif words[end - 1] in self._lexicon.ordinals:
            unit = "ordinal"
        self._add(" ".join(words[at:end]), end - at, values=frozenset(sign * value for value in values), unit=unit)
        return end - at

    def _before_figure(self, at: int) -> tuple[int, int]:
        """Return the number of signs before the digits, and 1 or -1."""
        words, before, sign = self._words, 0, 1
        while at + before < len(words) and before < 2:
            word = words[at + before]
            joined = at + before > 0 and words[at + before - 1][-1:].isdigit()
            if (word == "-" and not joined) or word in self._lexicon.minus:
                sign = -1
            elif not self._is_currency(self._raw[at + before]):
                break
            before += 1
        return before, sign

    def _is_currency(self, raw: str) -> bool:
        known = quantities().currencies
        return raw in known if raw.isupper() and raw.isalpha() else not raw.isalnum() and raw.casefold() in known

    def _currency(self, at: int, before: int) -> str:
        codes = [raw for raw in self._raw[at : at + before] if self._is_currency(raw)]
        return quantities().unit(codes)[0] if codes else ""

    def _digits(self, at: int) -> tuple[frozenset[Decimal], int]:
        """Return the values of the figure at a place, in digits or words, and the number of its words."""
        if at >= len(self._words):
            return frozenset(), 0
        word, lexicon = self._words[at], self._lexicon
        if word[0].isdigit():
            values = read_number(word)
            if len(values) > 1 and lexicon.groups in word:  # "1,250" in an English text
                values = frozenset({max(values)})
            return values, 1 if values else 0
        if word in lexicon.ordinals:
            return frozenset({Decimal(lexicon.ordinals[word])}), 1
        value, length = lexicon.numbers.get(word), 1
        if word in lexicon.indefinite and "".join(self._words[at + 1 : at + 2]) in quantities().scales:
            value = 1  # "a million"
        if value is None:
            return frozenset(), 0
        rest = [each for each in self._words[at + 1 : at + 3] if each != "-"]
        ones = lexicon.numbers.get(rest[0], lexicon.ordinals.get(rest[0], 0)) if rest else 0  # or "forty-seventh"
        if value >= 20 and value % 10 == 0 and 0 < ones < 10:
            value, length = value + ones, 2 + (self._words[at + 1] == "-")
        if self._words[at + length : at + length + 1] == ["hundred"]:
            value, length = value * 100, length + 1
        for phrase in lexicon.halves:  # "two and a half"
            if tuple(self._words[at + length : at + length + len(phrase)]) == phrase:
                return frozenset({value + Decimal("0.5")}), length + len(phrase)
        return frozenset({Decimal(value)}), length

    def _operator(self) -> int:
        lexicon, at = self._lexicon, self._at
        for length in range(lexicon.longest, 0, -1):
            phrase = tuple(self._words[at : at + length])
            operator = lexicon.operators.get(phrase) if len(phrase) == length else None
            if operator is None:
                continue
            if operator[0] == "=":
                self._add(operator[1:], length)
                return length
            self._adjacent = False
            after = "".join(self._words[at + 1 : at + 2])
            if length == 1 and phrase[0] in lexicon.conjunctions and not self._in_row:
                self._break(phrase[0])
            if length == 1 and operator.startswith("bound") and after in lexicon.roles:  # "handed over on 1 May"
                return length
            if phrase[0] == "or" and self._tokens:
                last = self._tokens[-1]
                self._tokens[-1] = last._replace(governs=last.governs | {operator})
            elif operator != "plain":
                self._pending.add(operator)
            return length
        return 0

    def _grammar(self) -> int:
        word, lexicon = self._words[self._at], self._lexicon
        breaks = word in _BREAKS or word in lexicon.conjunctions or word in lexicon.relative
        if word == "|" or (breaks and not self._in_row):  # a cell is one segment
            self._break(word)
        if self._at == 0 and word in lexicon.answers and "".join(self._words[1:2]) in ",.":
            pass
        elif word in lexicon.negation:
            self._pending.add("not")
        elif word in lexicon.roles:
            self._marker = self._marker if self._marker in lexicon.than else word  # "than in women"
        elif word not in lexicon.function and (word[0].isalnum() or self._is_sign()):
            return 0
        if word in lexicon.pronouns or word in lexicon.articles:
            opens = self._at == 0 or self._words[self._at - 1] in self._joints
            self._joints |= {word} if opens else frozenset()
        # "Paris is the capital" may be turned round, "Paris is a capital" may not.
        self._copula = (self._copula or word in lexicon.copulas) and word not in lexicon.indefinite
        self._linked = self._linked or word in lexicon.copulas
        self._article = word if word in lexicon.case_articles else ""
        self._adjacent = False
        return 1

    def _is_sign(self) -> bool:
        """Return whether a sign in a row is the unit of other cells: "(€ thousand)"."""
        after = "".join(self._raw[self._at + 1 : self._at + 2])
        return self._in_row and not after[:1].isdigit() and bool(quantities().unit([self._raw[self._at]])[0])

    def _content(self) -> int:
        raw, word = self._raw[self._at], self._words[self._at]
        first = self._at == 0 or self._raw[self._at - 1] == "|"
        self._add(word, 1, is_name=raw != raw.lower() and (not first or raw[1:] != raw[1:].lower()))
        return 1

    def _break(self, joint: str) -> None:
        if self._linked and joint != ",":
            self._end_pending()
        self._joints = frozenset({joint}) | (frozenset() if self._in_segment() else self._joints)
        self._segment += 1
        self._within.clear()
        self._marker, self._copula, self._linked = "", False, False

    def _in_segment(self) -> bool:
        return bool(self._tokens) and self._tokens[-1].segment == self._segment

    def _add(self, text: str, length: int, **fields: object) -> None:
        written = " ".join(self._raw[self._at : self._at + length])
        if fields.get("values") and "only" in self._pending:
            self._pending = {*self._pending, _ONLY_COUNT} - {"only"}
        last = self._tokens[-1] if self._tokens else None
        leads = last is None or last.segment != self._segment
        adjoins = not any(word.isalnum() for word in self._words[self._end : self._at])
        self._end = self._at + length
        if (
            last
            and self._adjacent
            and not leads
            and not last.dates
            and (fields.get("is_name") or not last.is_name or last.text in peoples())
        ):
            self._marker = self._marker or last.marker  # "in the third quarter" is one phrase
        self._tokens.append(
            Token(
                text, self._number, self._segment, frozenset(self._pending), frozenset(self._within), self._marker,
                predicate=self._copula, linked=self._linked, leads=leads, joints=self._joints,
                in_row=self._in_row, written=written, adjoins=adjoins, article=self._article, **fields,  # type: ignore[arg-type]
            )
        )  # fmt: skip
        self._within |= {each for each in self._pending if each.split(":")[0] in _SPREADING}
        # "not significantly reduced" negates the verb, and "only one kidney" is about the kidney.
        if not text.endswith("ly"):
            self._pending &= {_ONLY_COUNT} if fields.get("values") and not fields.get("unit") else set()
        self._marker, self._copula, self._adjacent, self._article = "", False, True, ""


@cache
def _months() -> dict[str, int]:
    from babel import Locale

    return {
        name.casefold().rstrip("."): number
        for language in _MONTH_LANGUAGES
        for width in ("wide", "abbreviated")
        for number, name in Locale(language).months["format"][width].items()
    }


def _date_at(raw: list[str], words: list[str], *, inside: bool) -> tuple[frozenset[Date], int]:
    """Return the date at the beginning of the words, and the number of its words."""
    iso = words[0].split("-")
    if len(iso) == 3:
        return frozenset({(int(iso[0]), int(iso[1]), int(iso[2]))}), 1
    numbers = list(_date_parts(raw, words))
    kinds = "".join(kind for kind, _, _ in numbers)
    for pattern in ("dmy", "mdy", "my", "dm", "md", "y"):
        if kinds.startswith(pattern):
            parts = {kind: value for kind, value, _ in numbers[: len(pattern)]}
            end = numbers[len(pattern) - 1][2]
            return frozenset({(parts.get("y"), parts.get("m"), parts.get("d"))}), end
    # "May" at the beginning of a sentence is a verb.
    if kinds == "m" and raw[0].istitle() and (inside or words[0] != "may"):
        return frozenset({(None, numbers[0][1], None)}), 1
    return frozenset(), 0


def _date_parts(raw: list[str], words: list[str]) -> Iterator[tuple[str, int, int]]:
    """Yield day, month and year at the beginning of the words, each with the place after it."""
    at = 0
    while at < min(len(words), 7):
        word = words[at]
        is_number = word.isdecimal() and len(word) <= 4  # "❶" is a digit, but no decimal one
        if is_number and len(word) == 4 and int(word) in _YEARS and words[at + 1 : at + 2] != ["%"]:
            yield "y", int(word), at + 1
        elif is_number and 1 <= int(word) <= 31:
            at += words[at + 1 : at + 2] != [] and words[at + 1] in (*_ORDINAL, ".")
            yield "d", int(word), at + 1
        elif word in _months() and raw[at][:1].isupper() | (word != "may" and len(word) > 3):
            yield "m", _months()[word], at + 1
        elif not (at and word in (",", "of", "de", ".", "the")):
            return
        at += 1
