"""Gold that the collection does not contain."""

from __future__ import annotations

from typing import Any

import pytest

from multi_agent.evaluation.question_set import DocumentInfo, find_missing_gold
from support.cases import question

TEXTS = {"a": "It delivered\n9,412 pumps.", "b": "Boil for 20 minutes."}
DOCUMENTS = [DocumentInfo("a", "q3/report.pdf", 3), DocumentInfo("b", "soup.txt", 0)]


@pytest.mark.parametrize(
    ("gold", "fault"),
    [
        ({"document": "report.pdf", "pages": [1, 3], "quote": "delivered 9,412"}, ""),
        ({"document": "q3/report.pdf"}, ""),
        ({"document": "eport.pdf"}, "q: unknown document 'eport.pdf'"),
        ({"document": "report.pdf", "pages": [4]}, "q: report.pdf has 3 pages, but the gold names page 4"),
        ({"document": "soup.txt", "pages": [1]}, "q: soup.txt has no pages, but the gold names page 1"),
        ({"document": "soup.txt", "quote": "for 3"}, "q: the parsed text of soup.txt does not contain 'for 3'"),
    ],
)  # fmt: skip
def test_missing_gold_is_found(gold: dict[str, Any], fault: str) -> None:
    assert find_missing_gold([question(gold=[gold])], DOCUMENTS, TEXTS.__getitem__) == ([fault] if fault else [])
