"""Finds possible contradictions with rules that compare words and values, not meaning.

A quote may contradict another quote, or a sentence that was read, of another document if they are the same sentence
except for one figure, or rows of the same columns except for one cell. Two answers to the same question may contradict
each other if their values cannot mean the same.
The agent that writes the answer decides whether they do.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from itertools import combinations, groupby
from operator import ne
from typing import NamedTuple

from multi_agent.grounding.equality import are_distinct, parse_value
from multi_agent.prompts.show_dates import show_dates
from multi_agent.values.context import Evidence, Finding, ResearchContext
from vectorstore.models import Chunk
from vectorstore.text.sentences import units_of
from vectorstore.text.wide_rows import cells_of

_WORD = re.compile(r"\w+")
_FEWEST_WORDS = 4  # minimum words of a sentence; shorter texts are headings and table cells


class Contradiction(NamedTuple):
    """Two statements, each with its source."""

    first: str
    second: str


def find_contradictions(context: ResearchContext) -> tuple[Contradiction, ...]:
    """Return the possible contradictions among the evidence, the passages and the findings, without duplicates.

    A sentence of a passage that was read counts if it may contradict a quote.
    """
    pairs = list(_between_quotes(context.evidence, context.chunks)) if context.evidence else []
    dates = show_dates(context.chunks) if pairs else {}
    differing = (Contradiction(*(each.show(dates) for each in pair)) for pair in pairs)
    return tuple(dict.fromkeys((*differing, *_between_answers(context.findings))))


class _Statement(NamedTuple):
    text: str
    document_id: str
    name: str

    def show(self, dates: Mapping[str, str]) -> str:
        return f"“{self.text}” ({', '.join(filter(None, (self.name, dates.get(self.document_id))))})"


def _read_sentences(chunks: Iterable[Chunk]) -> Iterator[tuple[_Statement, str]]:
    """Yield each sentence or row that was read, with the column names of a row."""
    for chunk in chunks:
        head = ""
        for span in units_of(chunk):
            text = " ".join(chunk.source_text(*span).split())
            head = (head or text) if cells_of(text) else ""
            yield _Statement(text, chunk.document_id, chunk.name), head


def _between_quotes(evidence: Iterable[Evidence], chunks: Iterable[Chunk]) -> Iterator[tuple[_Statement, _Statement]]:
    """Yield pairs of quotes, and of a quote and a sentence that was read, which differ in one figure only."""
    alike: defaultdict[tuple[str, ...], list[tuple[tuple[str, ...], _Statement]]] = defaultdict(list)
    heads = dict(_read_sentences(chunks))
    quotes = [_Statement(each.quote, each.document_id, each.name) for each in evidence]
    for at, item in enumerate((*quotes, *heads)):
        words, figures = _words_and_figures(item.text.casefold(), heads.get(item, "").casefold())
        is_known = any((each.text, each.name) == (item.text, item.name) for _, each in alike.get(words, ()))
        if len(words) - len(figures) >= _FEWEST_WORDS and not is_known and (at < len(quotes) or words in alike):
            alike[words].append((figures, item))
    cited = set(quotes)
    for group in alike.values():
        for (figures, one), (others, other) in combinations(group, 2):
            differ = one.document_id != other.document_id and sum(map(ne, figures, others)) == 1
            if differ and not cited.isdisjoint((one, other)):
                yield one, other


def _words_and_figures(text: str, head: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words, with "#" for each figure, and the figures. A cell is a word or a figure as a whole.

    The first cell of a row and its column names are words.
    """
    label, *cells = cells_of(text) if head else [""]
    parts = [[cell] for cell in cells] or [[*run] for _, run in groupby(_WORD.findall(text), _is_figure)]
    words = [word for part in parts for word in (["#"] if _is_figure(part[0]) else part)]
    return (*_WORD.findall(f"{head} {label}"), *words), tuple("".join(part) for part in parts if _is_figure(part[0]))


def _is_figure(text: str) -> bool:
    return any(map(str.isdigit, text))


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
