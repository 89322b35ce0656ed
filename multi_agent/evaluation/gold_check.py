"""Finds gold that the collection does not contain: unknown documents, pages and quotes.

A misspelt document name would look like a retrieval failure in every figure, so gold is checked before the first
question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from multi_agent.evaluation.question_set import Gold, Question
from multi_agent.grounding.quotes import fold


class DocumentInfo(NamedTuple):
    """A document of the collection."""

    id: str
    name: str
    pages: int
    """0 for formats without pages."""


def find_missing_gold(
    questions: Iterable[Question], documents: Sequence[DocumentInfo], text_of: Callable[[str], str]
) -> list[str]:
    """Return one line for each missing gold entry. ``text_of`` returns the text of a document by its id."""
    by_name = _index_by_name(documents)
    folded_text = lru_cache(maxsize=1)(lambda document: fold(text_of(document)))  # entries are sorted by document
    entries = [(question.id, gold) for question in questions for gold in question.gold]
    found = []
    for question, gold in sorted(entries, key=lambda each: each[1].document):
        if fault := _find_fault(gold, by_name, folded_text):
            found.append(f"{question}: {fault}")
    return found


def _index_by_name(documents: Iterable[DocumentInfo]) -> Mapping[str, list[DocumentInfo]]:
    """Index documents by every name that gold can use: the full path, and each part of it after a slash."""
    named: defaultdict[str, list[DocumentInfo]] = defaultdict(list)
    for document in documents:
        parts = document.name.split("/")
        for start in range(len(parts)):
            named["/".join(parts[start:])].append(document)
    return named


def _find_fault(gold: Gold, by_name: Mapping[str, list[DocumentInfo]], text_of: Callable[[str], str]) -> str:
    matches = by_name.get(gold.document)
    if not matches:
        return f"unknown document {gold.document!r}"
    last = max(document.pages for document in matches)
    if gold.pages and max(gold.pages) > last:
        return f"{gold.document} has {last or 'no'} pages, but the gold names page {max(gold.pages)}"
    if gold.quote and not any(fold(gold.quote) in text_of(document.id) for document in matches):
        return f"the parsed text of {gold.document} does not contain {gold.quote!r}"
    return ""
