"""Splitting of long sentences: any text is cut without loss."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import example, given, settings
from hypothesis import strategies as st

from ingest.chunking.segments import Outline, Segmenter
from ingest.document import ParsedDocument

_MARKS = st.text(alphabet="ab1,.;?!…。？！ \n\t\u3000\xa0\x1fé\u0301\U0001f600", min_size=1, max_size=80)


def _count(texts: Sequence[str]) -> list[int]:
    """Count like a tokenizer of bytes: a character has no token, or up to four."""
    return [sum(ord(character) % 5 for character in text) for text in texts]


@settings(deadline=None, max_examples=400)
@given(st.one_of(_MARKS, st.text(min_size=1, max_size=80)), st.integers(1, 12))
@example("\U0001f600…", 1)
@example("a,,b;;.c", 1)
def test_a_text_is_split_into_all_of_its_parts_in_order(text: str, room: int) -> None:
    parsed = ParsedDocument(text=text, blocks=(), parser="text/1")
    segmenter = Segmenter(_count, 64, parsed, Outline(_count, 64, parsed, "text.txt"))
    position = 0
    for start, end in segmenter.split(0, len(text), room):
        assert not text[position:start].strip(), "only blanks are left out"
        assert position <= start < end
        assert end - start == 1 or _count([text[start:end]])[0] <= room
        position = end
    assert not text[position:].strip()
