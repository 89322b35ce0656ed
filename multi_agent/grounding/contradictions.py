"""Finds possible contradictions with rules that compare words and values, not meaning.

A quote may contradict another quote, or a sentence that was read, of another document if they are the same sentence
except for one figure. Two answers to the same question may contradict each other if their values cannot mean the same.
The agent that writes the answer decides whether they do.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, groupby
from operator import ne
from typing import NamedTuple

from multi_agent.grounding.equality import are_distinct, parse_value
from multi_agent.prompts.show_dates import show_dates
from multi_agent.values.context import Finding, ResearchContext
from vectorstore.models import Chunk
from vectorstore.text.sentences import units_of

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 4  # minimum words of a sentence; shorter texts are headings and table cells
_FIGURE = "#"


class Contradiction(NamedTuple):
    """Two statements, each with its source."""

    first: str
    second: str


def find_contradictions(context: ResearchContext) -> tuple[Contradiction, ...]:
    """Return the possible contradictions among the evidence, the passages and the findings, without duplicates.

    A sentence of a passage that was read counts if it may contradict a quote.
    """
    quotes = tuple(_Statement(item.quote, item.document_id, item.name) for item in context.evidence)
    pairs = list(_between_quotes(quotes, _read_sentences(context.chunks) if quotes else ()))
    dates = show_dates(context.chunks) if pairs else {}
    differing = (Contradiction(*(each.show(dates) for each in pair)) for pair in pairs)
    return tuple(dict.fromkeys((*differing, *_between_answers(context.findings))))


class _Sentence(NamedTuple):
    words: tuple[str, ...]
    """The words, with a mark in place of each figure."""
    figures: tuple[str, ...]


class _Statement(NamedTuple):
    text: str
    document_id: str
    name: str

    def show(self, dates: Mapping[str, str]) -> str:
        return f"“{self.text}” ({', '.join(filter(None, (self.name, dates.get(self.document_id))))})"


def _read_sentences(chunks: Iterable[Chunk]) -> Iterator[_Statement]:
    for chunk in chunks:
        for span in units_of(chunk):
            yield _Statement(" ".join(chunk.source_text(*span).split()), chunk.document_id, chunk.name)


def _between_quotes(
    quotes: Sequence[_Statement], read: Iterable[_Statement]
) -> Iterator[tuple[_Statement, _Statement]]:
    """Yield pairs of quotes, and of a quote and a sentence that was read, which differ in one figure only."""
    alike: defaultdict[tuple[str, ...], list[tuple[tuple[str, ...], _Statement]]] = defaultdict(list)
    for at, item in enumerate((*quotes, *read)):
        words, figures = _sentence(item.text)
        is_known = any((each.text, each.name) == (item.text, item.name) for _, each in alike.get(words, ()))
        if len(words) - len(figures) >= _FEWEST_WORDS and not is_known and (at < len(quotes) or words in alike):
            alike[words].append((figures, item))
    cited = set(quotes)
    for group in alike.values():
        for (figures, one), (others, other) in combinations(group, 2):
            differ = one.document_id != other.document_id and sum(map(ne, figures, others)) == 1
            if differ and not cited.isdisjoint((one, other)):
                yield one, other


def _sentence(quote: str) -> _Sentence:
    words: list[str] = []
    figures: list[str] = []
    for is_figure, tokens in groupby(_WORD.findall(quote.casefold()), lambda token: any(map(str.isdigit, token))):
        if is_figure:
            words.append(_FIGURE)
            figures.append("".join(tokens))
        else:
            words.extend(tokens)
    return _Sentence(tuple(words), tuple(figures))


def _between_answers(findings: Iterable[Finding]) -> Iterator[Contradiction]:
    asked: defaultdict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        if finding.synthesis.sufficient and finding.synthesis.short:
            asked[" ".join(_WORD.findall(finding.question.casefold()))].append(finding)
    for group in asked.values():
        for one, other in combinations(group, 2):
            values = [parse_value(each.synthesis.short) for each in (one, other)]
            if values[0] != values[1] and are_distinct(values):
                yield Contradiction(_answered(one), _answered(other))


def _answered(finding: Finding) -> str:
    names = dict.fromkeys(item.name for item in finding.synthesis.evidence)
    return f"“{finding.synthesis.short}” as answer to “{finding.question}” ({', '.join(names)})"
