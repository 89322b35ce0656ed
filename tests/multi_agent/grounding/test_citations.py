"""Citations: numbers of shown units become verbatim quotes, other numbers are dropped."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multi_agent.grounding.citations import cite, publish_unknown
from multi_agent.prompts.show_passages import number_units
from multi_agent.values.evidence_events import EvidenceRejected
from support.chunks import make_chunk
from vectorstore.models import Chunk, ChunkKind, PageSpan, TableHeader

TEXTS = st.lists(st.sampled_from(["One is red.", "Two!", "3", "-", "\n", "| a |"]), min_size=1, max_size=6).map(
    " ".join
)


def at(offset: int, index: int, text: str) -> Chunk:
    """Return a chunk that starts at ``offset`` of its document. Its first half is on page 1, the other on page 2."""
    chunk = make_chunk(text, index=index).model_copy(update={"start": offset, "end": offset + len(text)})
    middle = offset + len(text) // 2
    pages = (
        PageSpan(number=1, start=offset, end=middle),
        PageSpan(number=2, start=middle, end=offset + len(text)),
    )
    return chunk.model_copy(update={"page_spans": pages})


@given(st.lists(TEXTS, min_size=1, max_size=4), st.lists(st.integers(-1, 12), max_size=6))
def test_numbers_become_verbatim_quotes_or_are_unknown(texts: list[str], numbers: list[int]) -> None:
    chunks = {chunk.id: chunk for chunk in (at(1000 * index, index, text) for index, text in enumerate(texts))}
    units = number_units(chunks.values())
    cited = cite(numbers, units, "it")
    assert set(cited.unknown) == {number for number in numbers if not 1 <= number <= len(units)}
    named = [unit for unit in units if unit.number in numbers]
    for unit in named:
        [holding] = [
            item for item in cited.evidence
            if item.chunk_id == unit.chunk.id and item.start <= unit.start and unit.end <= item.end
        ]  # fmt: skip
        assert holding.why == "it"
    for item in cited.evidence:
        chunk = chunks[item.chunk_id]
        assert item.quote == chunk.text[item.start - chunk.start : item.end - chunk.start]
        assert set(item.pages) <= {1, 2}
        assert item.pages


def test_adjacent_units_form_one_quote_and_others_do_not() -> None:
    chunks = [at(0, 0, "It opened. It grew. It shut."), at(1000, 1, "It fell.")]
    units = number_units(chunks)
    assert [item.quote for item in cite([2, 1], units).evidence] == ["It opened. It grew."]
    assert [item.quote for item in cite([1, 3, 4], units).evidence] == ["It opened.", "It shut.", "It fell."]


def test_a_row_and_the_header_above_it_are_two_quotes() -> None:
    header = TableHeader(text="| Country | Units |", start=100, end=119)
    chunk = make_chunk("| Austria | 812 |", kind=ChunkKind.TABLE, header=header)
    later = chunk.model_copy(update={"start": 200, "end": 200 + len(chunk.text)})
    quotes = cite([1, 2], number_units([later])).evidence
    assert [(item.start, item.quote) for item in quotes] == [(100, "| Country | Units |"), (200, "| Austria | 812 |")]


async def test_an_unknown_number_is_published() -> None:
    published: list[Any] = []

    async def publish(body: object) -> None:
        published.append(body)

    await publish_unknown([7], number_units([at(0, 0, "It closed.")]), publish, "Reader")
    reason = "There is no sentence 7; 1 were shown."
    assert published == [EvidenceRejected(quote="[7]", passage="", reason=reason, final=True, agent="Reader")]
