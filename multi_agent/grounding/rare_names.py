"""Names that a question is about, and whether passages have them.

A name is what the question and all its other wordings spell alike: a synonym takes the place of a common noun, in
languages that capitalise nouns, too, but not of a name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from multi_agent.grounding.terms import Term, TermIndex, find_terms
from multi_agent.library import Library
from multi_agent.values.bus import Publish
from multi_agent.values.evidence_events import Searched
from vectorstore.models import Hit

_LOOKED_UP = 3  # best passages
_WORDINGS = 2  # other wordings; with fewer, a common noun may be in all of them


def shared_names(question: str, wordings: Sequence[str]) -> tuple[Term, ...]:
    """Return the names that the question and all its other wordings have; empty with fewer than two wordings."""
    if len(wordings) < _WORDINGS:
        return ()
    indexes = [TermIndex(each) for each in wordings]
    terms = dict.fromkeys(term for term in find_terms(question) if term.kind == "name")
    return tuple(term for term in terms if all(term in index for index in indexes))


async def find_unknown(terms: Sequence[Term], library: Library, publish: Publish) -> tuple[str, ...]:
    """Return the names among the terms that no passage has. Raises StoreError."""
    unknown: list[str] = []
    for name in (term for term in terms if term.kind == "name"):
        hits = await asyncio.to_thread(library.search, (name.text,), _LOOKED_UP)
        await publish(Searched.of((name.text,), (), hits))
        unknown += [] if may_name((name,), hits) else [name.text]
    return tuple(unknown)


def may_name(names: Sequence[Term], hits: Sequence[Hit]) -> bool:
    """Return whether a passage has one of the names, in any form, as the search corrected it, or in a picture."""
    chunks = [hit.chunk for hit in hits]
    respelt = [Term(word, "word") for hit in hits for near in hit.respelt.values() for word in near]
    index = TermIndex("\n".join(f"{chunk.name}\n{chunk.indexed_text}" for chunk in chunks))
    has_name = any(term in index for term in (*(name._replace(kind="word") for name in names), *respelt))
    return has_name or any(chunk.origin or chunk.pictured_pages for chunk in chunks)
