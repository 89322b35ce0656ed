"""The part of a question to search with: without instructions for the answer, such as "If there is none, say N/A."

An instruction finds covers, indexes and signatures instead of what is asked. No rule knows its words, in any language:
what follows the last question mark is an instruction if it has no word, name or figure of what is asked.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from multi_agent.grounding.terms import TermIndex, find_terms

_ASKED = re.compile(r".*[?？؟][\"'”’»)\]]*(?=\s|$)", re.DOTALL)
_FEWEST = 3  # terms; a shorter question may need what follows: "How loud is it? I mean the pump in the cellar."


def without_instruction(question: str, queries: Iterable[str] = ()) -> str:
    """Return the question without an instruction at its end. ``queries`` are other wordings of what is asked."""
    asked = _ASKED.match(question)
    if asked is None:
        return question
    known, rest = [asked[0], *queries], find_terms(question[asked.end() :])
    enough = len(known) > 1 or len(find_terms(asked[0])) >= _FEWEST
    index = TermIndex(" ".join(known))
    belongs = any(term.kind == "figure" or term in index for term in rest)
    return question if belongs or not enough else asked[0]
