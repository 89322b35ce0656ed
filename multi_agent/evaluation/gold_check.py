"""Gold that cannot be found, whatever is asked: of documents, pages and words that the collection does not hold.

A misspelt name would count as a failure of the retrieval in every figure; so it is told before the first question.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from multi_agent.evaluation.question_set import Gold, Question
from multi_agent.grounding.quotes import fold


class Held(NamedTuple):
    """A document of the collection."""

    id: str
    name: str
    pages: int
    """0 for formats without pages."""


def astray(questions: Iterable[Question], documents: Sequence[Held], text_of: Callable[[str], str]) -> list[str]:
    """A line for each gold of the questions that is not there; ``text_of`` gives the text of a document by its id."""
    named = _by_name(documents)
    known = lru_cache(maxsize=1)(lambda document: fold(text_of(document)))  # gold is looked up document by document
    asked = [(question.id, gold) for question in questions for gold in question.gold]
    found = []
    for question, gold in sorted(asked, key=lambda each: each[1].document):
        if fault := _fault(gold, named, known):
            found.append(f"{question}: {fault}")
    return found


def _by_name(documents: Iterable[Held]) -> Mapping[str, list[Held]]:
    """Documents by every name that gold may call them by: the whole, and what stands behind each slash."""
    named: defaultdict[str, list[Held]] = defaultdict(list)
    for document in documents:
        parts = document.name.split("/")
        for start in range(len(parts)):
            named["/".join(parts[start:])].append(document)
    return named


def _fault(gold: Gold, named: Mapping[str, list[Held]], text_of: Callable[[str], str]) -> str:
    meant = named.get(gold.document)
    if not meant:
        return f"there is no document {gold.document!r}"
    last = max(document.pages for document in meant)
    if gold.pages and max(gold.pages) > last:
        return f"{gold.document} has {f'{last} pages' if last else 'no pages'}, and none is {max(gold.pages)}"
    if gold.quote and not any(fold(gold.quote) in text_of(document.id) for document in meant):
        return f"in {gold.document}, as it was parsed, there is no {gold.quote!r}"
    return ""
