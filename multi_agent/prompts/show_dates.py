"""Says how old the documents of a prompt are, and which of them are versions of one document.

The date is the one that a document states, otherwise the one in the properties of its file, otherwise that of the file.
The words say which: "dated", "saved" or "file of". A date of files that all documents of a prompt share is the day on
which they were copied, so it is omitted.

Versions have names that share a word, or the same title, and passages that say nearly the same. Nothing here knows
words such as "final".
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from vectorstore.models import FILE_DATE, Chunk

_STATED = (("date", "dated"), ("period", "for"))
_SAVED = (("modified_at", "saved"), ("created_at", "created"))
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_WORDS = re.compile(r"[^\W\d_]+|\d+")
_ALIKE = 0.7
"""Share of common words of two passages that say nearly the same. One figure in a sentence of ten words differs."""

_MIN_WORD = 3  # letters of a word that two names share
_MOST_VERSIONS = 12
"""Documents. More of one name are a series, such as invoices."""


class _Date(NamedTuple):
    day: str
    word: str

    def __str__(self) -> str:
        return f"{self.word} {self.day}" if self.day else ""


def show_dates(chunks: Sequence[Chunk]) -> Mapping[str, str]:
    """Return the date of each document of a prompt and the versions that it replaces, by document id."""
    first: dict[str, Chunk] = {}
    for chunk in chunks:
        first.setdefault(chunk.document_id, chunk)
    shared = len({chunk.metadata.get(FILE_DATE) for chunk in first.values()}) == 1
    dates = {document: _date_of(chunk, with_file=not shared) for document, chunk in first.items()}
    replaced = _replaced(chunks, first, dates)
    return {document: ", ".join(filter(None, (str(dates[document]), replaced.get(document, "")))) for document in first}


def show_date(chunk: Chunk) -> str:
    """Return the date of the passage's document as prompts show it, such as "saved 2024-05-20", or an empty text."""
    return str(_date_of(chunk, with_file=True))


def _date_of(chunk: Chunk, *, with_file: bool) -> _Date:
    for name, word in _STATED:
        if value := str(chunk.metadata.get(name, "")):
            return _Date(value, word)
    for name, word in _SAVED:
        if day := _DAY.match(str(chunk.metadata.get(name, ""))):
            return _Date(day[0], word)
    return _Date(str(chunk.metadata.get(FILE_DATE, "")) if with_file else "", "file of")


def _replaced(chunks: Iterable[Chunk], first: Mapping[str, Chunk], dates: Mapping[str, _Date]) -> dict[str, str]:
    """Return a phrase for each document that replaces others. It names them, oldest first."""
    oldest_first = sorted(first, key=lambda each: (dates[each].day, _numbers(first[each])))
    named_alike = _named_alike([first[document] for document in oldest_first])
    named = {document for pair in named_alike for document in pair}
    passages: dict[str, list[frozenset[str]]] = {}
    for chunk in chunks:
        if chunk.document_id in named:
            passages.setdefault(chunk.document_id, []).append(frozenset(_WORDS.findall(chunk.text.casefold())))
    replaced: dict[str, list[str]] = {}
    for one, other in named_alike:
        if _say_nearly_the_same(passages[one], passages[other]) and _is_older(one, other, first, dates):
            replaced.setdefault(other, []).append(first[one].name)
    return {document: f"a newer version of {' and '.join(names)}" for document, names in replaced.items()}


def _named_alike(oldest_first: Sequence[Chunk]) -> list[tuple[str, str]]:
    """Return the ids of each two documents whose names share a word, or whose titles are equal, without series.

    Documents for different periods are no versions.
    """
    alike: dict[Hashable, list[int]] = {}
    for at, chunk in enumerate(oldest_first):
        titles = [(chunk.title,)] if chunk.title else []
        for shared in (*_words(chunk), *titles):
            alike.setdefault((shared, chunk.metadata.get("period")), []).append(at)
    series = {at for group in alike.values() if len(group) > _MOST_VERSIONS for at in group}
    few = (group for group in alike.values() if len(group) <= _MOST_VERSIONS)
    pairs = sorted({pair for group in few for pair in combinations(group, 2)})
    named = Counter(at for pair in pairs for at in pair)
    series |= {at for at, others in named.items() if others >= _MOST_VERSIONS}
    ids = [chunk.document_id for chunk in oldest_first]
    return [(ids[one], ids[other]) for one, other in pairs if series.isdisjoint((one, other))]


def _words(chunk: Chunk) -> set[str]:
    name = chunk.name.rpartition("/")[2].rpartition(".")[0].casefold()
    return {word for word in _WORDS.findall(name) if len(word) >= _MIN_WORD and not word.isdigit()}


def _say_nearly_the_same(passages: Sequence[frozenset[str]], others: Sequence[frozenset[str]]) -> bool:
    """Return whether most passages of the shorter document have a counterpart, and one of these differs a little."""
    shorter, longer = sorted((passages, others), key=len)
    pairs = [[(a, b) for b in longer if len(a & b) >= _ALIKE * len(a | b)] for a in shorter]
    differs = any(a != b for each in pairs for a, b in each)
    return differs and 2 * sum(map(bool, pairs)) >= len(shorter)


def _is_older(one: str, other: str, first: Mapping[str, Chunk], dates: Mapping[str, _Date]) -> bool:
    """Return whether the first document is older by its date, or by the numbers in its name if the dates are equal."""
    days, numbers = ((dates[one].day, dates[other].day), (_numbers(first[one]), _numbers(first[other])))
    if all(days) and days[0] != days[1]:
        return days[0] < days[1]
    return days[0] == days[1] and len(numbers[0]) == len(numbers[1]) and numbers[0] < numbers[1]


def _numbers(chunk: Chunk) -> tuple[int, ...]:
    return tuple(int(word) for word in _WORDS.findall(chunk.name) if word.isdigit())
