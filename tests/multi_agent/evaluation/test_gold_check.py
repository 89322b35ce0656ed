"""Gold that the collection does not hold is told before anything is asked."""

from __future__ import annotations

from typing import Any

import pytest

from multi_agent.evaluation.gold_check import Held, astray
from support.cases import question

TEXTS = {"a": "It delivered\n9,412 pumps.", "b": "Boil for 20 minutes."}
DOCUMENTS = [Held("a", "q3/report.pdf", 3), Held("b", "soup.txt", 0)]


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ({"document": "report.pdf", "pages": [1, 3], "quote": "delivered 9,412"}, ""),
        ({"document": "q3/report.pdf"}, ""),
        ({"document": "eport.pdf"}, "q: there is no document 'eport.pdf'"),
        ({"document": "report.pdf", "pages": [4]}, "q: report.pdf has 3 pages, and none is 4"),
        ({"document": "soup.txt", "pages": [1]}, "q: soup.txt has no pages, and none is 1"),
        ({"document": "soup.txt", "quote": "for 3"}, "q: in soup.txt, as it was parsed, there is no 'for 3'"),
    ],
)  # fmt: skip
def test_what_is_not_there_is_told(gold: dict[str, Any], said: str) -> None:
    assert astray([question(gold=[gold])], DOCUMENTS, TEXTS.__getitem__) == ([said] if said else [])
