"""Finds possible contradictions with rules that compare words and values, not meaning.

Two quotes from different documents may contradict each other if they are the same sentence except for one figure. Two
answers to the same question may contradict each other if their values cannot mean the same. The agent that writes the
answer decides whether they do.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations, groupby
from typing import NamedTuple

from multi_agent.grounding.equality import are_distinct, parse_value
from multi_agent.values.context import Evidence, Finding, ResearchContext

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 4  # minimum words of a sentence; shorter texts are headings and table cells
_FIGURE = "#"


class Contradiction(NamedTuple):
    """Two statements, each with its source."""

    first: str
    second: str


def find_contradictions(context: ResearchContext) -> tuple[Contradiction, ...]:
    """Return the possible contradictions among the evidence and the findings, without duplicates."""
    return tuple(dict.fromkeys((*_between_quotes(context.evidence), *_between_answers(context.findings))))


class _Sentence(NamedTuple):
    words: tuple[str, ...]
    """The words, with a mark in place of each figure."""
    figures: tuple[str, ...]


def _between_quotes(evidence: Iterable[Evidence]) -> Iterator[Contradiction]:
    alike: defaultdict[tuple[str, ...], list[tuple[tuple[str, ...], Evidence]]] = defaultdict(list)
    for item in evidence:
        words, figures = _sentence(item.quote)
        if len(words) - len(figures) >= _FEWEST_WORDS:
            alike[words].append((figures, item))
    for group in alike.values():
        for (figures, one), (others, other) in combinations(group, 2):
            if one.document_id != other.document_id and _differing(figures, others) == 1:
                yield Contradiction(_quoted(one), _quoted(other))


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


def _differing(figures: Sequence[str], others: Sequence[str]) -> int:
    return sum(one != other for one, other in zip(figures, others, strict=True))


def _quoted(item: Evidence) -> str:
    return f"“{item.quote}” ({item.name})"


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
