"""How passages are shown: under where they stand, and what they are part of."""

from __future__ import annotations

import pytest

from multi_agent.prompts.show_passages import show_location
from support.chunks import make_chunk
from vectorstore.models import PageSpan


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({"title": "The Lee House"}, "0042.md (The Lee House)"),
        ({"title": "0042"}, "0042.md"),
        ({"title": "", "section": ("Plan", "Roof")}, "0042.md, Plan › Roof"),
        ({"title": "The Lee House", "section": ("Plan",)}, "0042.md (The Lee House), Plan"),
    ],
)
def test_the_title_is_shown_unless_the_name_contains_it(fields: dict[str, object], shown: str) -> None:
    assert show_location(make_chunk("It has three storeys.", document="/docs/0042.md", **fields)) == shown


def test_a_part_shows_only_its_own_pages() -> None:
    spans = (PageSpan(number=3, start=0, end=5), PageSpan(number=4, start=5, end=9))
    chunk = make_chunk("It stands", page_spans=spans)
    assert (show_location(chunk), show_location(chunk, [4])) == ("a.md, pages 3-4", "a.md, page 4")
