"""No quote becomes evidence unless it stands in the passage that it names, whatever a model answers."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from multi_agent.events import EvidenceRejected
from multi_agent.grounding.citations import Quoted, publish_rejected, quote_model, verify_quotes
from support.chunks import make_chunk
from vectorstore.models import Chunk, PageSpan

WORDS = st.lists(st.sampled_from(["one", "two", "three", "four", "10", "2010", "-", "|"]), min_size=1, max_size=6)
TEXTS = WORDS.map(" ".join)


def at(offset: int, index: int, text: str) -> Chunk:
    """A chunk that begins there in its document, on page 1 up to its middle."""
    chunk = make_chunk(text, index=index).model_copy(update={"start": offset, "end": offset + len(text)})
    middle = offset + len(text) // 2
    pages = (
        PageSpan(number=1, start=offset, end=middle),
        PageSpan(number=2, start=middle, end=offset + len(text)),
    )
    return chunk.model_copy(update={"page_spans": pages})


@given(
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(st.builds(Quoted, passage=st.integers(1, 9), quote=TEXTS, shows=st.just("")), max_size=6),
)
def test_quotes_are_located_verbatim_or_rejected(texts: list[str], items: list[Quoted]) -> None:
    chunks = [at(1000 * index, index, text) for index, text in enumerate(texts)]
    located, rejected = verify_quotes(items, chunks)
    assert sorted([*(id(each.item) for each in located), *map(id, rejected)]) == sorted(map(id, items))
    for each in located:
        chunk, evidence = chunks[each.item.passage - 1], each.evidence
        assert evidence.chunk_id == chunk.id
        assert (
            evidence.quote == each.item.quote == chunk.text[evidence.start - chunk.start : evidence.end - chunk.start]
        )
        assert set(evidence.pages) <= {1, 2}
        assert evidence.pages


def test_a_quote_must_be_in_its_own_passage() -> None:
    chunks = [at(0, 0, "It opened in 1961."), at(1000, 1, "It closed in 1999.")]
    item = Quoted(passage=1, quote="It closed in 1999.", shows="the end")
    assert verify_quotes([item], chunks) == ((), (item,))


async def test_a_rejected_quote_is_published_with_the_passage_it_named() -> None:
    published: list[Any] = []

    async def publish(body: object) -> None:
        published.append(body)

    items = [Quoted(passage=number, quote="It shut.", shows="") for number in (1, 7)]
    await publish_rejected(items, [at(0, 0, "It closed.")], publish, "Not there.", final=True)
    assert published == [
        EvidenceRejected(quote="It shut.", passage="a.md, pages 1-2", reason="Not there.", final=True),
        EvidenceRejected(quote="It shut.", passage="passage 7, which was not shown", reason="Not there.", final=True),
    ]


def test_a_quote_type_limits_the_passage_number() -> None:
    schema = quote_model("AnyQuote", 12).model_json_schema()
    assert schema["properties"]["passage"]["maximum"] == 12
    assert list(schema["properties"]) == ["passage", "quote", "shows"]
