"""The passages of a search in its event."""

from __future__ import annotations

import pytest

from multi_agent.values.evidence_events import FoundPassage, Searched
from support.chunks import make_chunk
from vectorstore.models import Hit, PageSpan

LONG = "word " * 100


@pytest.mark.parametrize(
    ("text", "excerpt"),
    [("short", "short"), (LONG, ("word " * 40).rstrip()), ("漢" * 300, "漢" * 200), ("x" * 200, "x" * 200)],
)
def test_an_excerpt_is_verbatim_and_ends_at_a_word(text: str, excerpt: str) -> None:
    chunk = make_chunk(text, document="/docs/manual.pdf")
    found = FoundPassage.of(Hit(chunk=chunk, score=1.0))
    assert found.excerpt == excerpt
    assert chunk.source_text(found.start, found.end) == excerpt


def test_the_pages_are_those_of_the_excerpt() -> None:
    pages = (PageSpan(number=3, start=0, end=250), PageSpan(number=4, start=250, end=500))
    assert FoundPassage.of(Hit(chunk=make_chunk(LONG, page_spans=pages), score=1.0)).pages == (3,)


def test_a_search_lists_its_best_passages_and_a_scan_none() -> None:
    chunks = [make_chunk(f"Passage {number}.", document=f"/docs/{number}.md") for number in range(30)]
    searched = Searched.of(("q",), (), [Hit(chunk=chunk, score=1.0) for chunk in chunks])
    assert (searched.chunks_found, searched.documents_found) == (30, 30)
    assert [passage.name for passage in searched.passages] == [f"{number}.md" for number in range(24)]
    assert Searched.of_scan((), chunks).passages == ()


def test_an_event_stored_without_passages_is_valid() -> None:
    stored = {"type": "searched", "method": "search", "queries": ["q"], "chunks_found": 1, "documents_found": 1}
    assert Searched.model_validate(stored).passages == ()
