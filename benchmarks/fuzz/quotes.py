"""Fuzz the location of quotes. A located or cited quote must be at its place in any text."""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st

from benchmarks.fuzz.search import Property
from multi_agent.grounding.citations import cite
from multi_agent.grounding.equality import are_distinct, parse_value
from multi_agent.grounding.judged import Statement
from multi_agent.grounding.quotes import fold, locate
from multi_agent.grounding.support import SupportRules
from multi_agent.prompts.show_passages import number_units, show_units
from vectorstore.models import Chunk, ChunkKind, TableHeader
from vectorstore.text.sentences import Span

_PIECES = [
    "a", "pump", "Pump", "ß", "İ", "ﬁ", "é", "e\u0301", "\u0301", "½", "²", "①", "㎏", "…", "Ⅳ", "日本", "ไทย",
    "한", "ب", "1", "10", "2010", "1,5", "1.5", "-25", "−25", "%", "€", "|", "-", "\u2010", "\u00ad", "–",
    "\u200b", "\ufeff", "\u0000", " ", "  ", "\u00a0", "\u2003", "\t", "\n", "\r\n", "\u2028",
    "“", "”", '"', "'", "’", ".", "!", "。",
    "(", "\U0001f600",
]  # fmt: skip
TEXTS = st.lists(st.sampled_from(_PIECES) | st.text(max_size=4), min_size=1, max_size=25).map("".join)


class Quoted(NamedTuple):
    """A passage and a quote, which may or may not be in it."""

    chunk: Chunk
    quote: str

    def text_at(self, span: Span) -> str:
        """Return the text of the header or the passage at a span of the document. Fails if neither contains it."""
        for text, start in self.parts:
            if start <= span.start < span.end <= start + len(text):
                return text[span.start - start : span.end - start]
        raise AssertionError(f"{span} is outside the passage")

    @property
    def parts(self) -> list[tuple[str, int]]:
        header = self.chunk.header
        return [(self.chunk.text, self.chunk.start), *([(header.text, header.start)] if header else [])]


@st.composite
def _quoted(draw: st.DrawFn) -> Quoted:
    text = draw(TEXTS.filter(bool))
    head = draw(st.none() | TEXTS)
    start = len(head or "") + draw(st.integers(0, 9))
    header = TableHeader(text=head, start=0, end=len(head)) if head else None
    chunk = Chunk(
        id="c", document_id="d", document="/d.md", name="d.md", version="v", index=0, text=text, start=start,
        end=start + len(text), header=header, kind=draw(st.sampled_from(ChunkKind)),
    )  # fmt: skip
    return Quoted(chunk, draw(TEXTS | _slices(text) | _slices(fold(text))))


def _slices(text: str) -> st.SearchStrategy[str]:
    places = st.integers(0, len(text))
    return st.tuples(places, places).map(lambda ends: text[min(ends) : max(ends)])


def a_located_quote_is_at_its_place(quoted: Quoted) -> None:
    span = locate(quoted.quote, quoted.chunk)
    if span:
        found = quoted.text_at(span)
        assert _letters(found) == _letters(quoted.quote), (found, quoted.quote)


def _letters(text: str) -> str:
    """Return the normalized text without white space and without hyphens at line ends."""
    return "".join(character for character in fold(text) if character != "-" and not character.isspace())


def whole_words_are_found(quoted: Quoted) -> None:
    """Check that an exact copy of a whole word is found."""
    for word in quoted.chunk.text.split():
        assert not fold(word) or locate(word, quoted.chunk), word


def a_cited_unit_is_quoted_verbatim(quoted: Quoted) -> None:
    units = number_units([quoted.chunk])
    numbers = [number % (len(units) + 3) - 1 for number in map(ord, quoted.quote)]
    cited = cite(numbers, units)
    assert set(cited.unknown) == {number for number in numbers if not 1 <= number <= len(units)}
    for item in cited.evidence:
        assert item.quote == quoted.text_at(Span(item.start, item.end))
    assert show_units(units).count("\n") <= len(units), "each unit is one line"


def any_claim_is_judged(quoted: Quoted) -> None:
    chunk = quoted.chunk
    shown = cite(range(1, 99), number_units([chunk])).evidence
    rules = SupportRules(chunk.text[:20], shown, [chunk], quoted.quote[:5])
    for evidence in (shown[:1], shown, ()):
        judged = rules.judge(Statement(quoted.quote, evidence))
        assert not (judged.supported and judged.contradicted)
        assert judged.stands or not judged.supported
        assert set(judged.statement.evidence) <= set(shown)
    assert rules.describe_evidence(Statement(quoted.quote, shown)).startswith("- ") or not shown


def any_value_is_compared(quoted: Quoted) -> None:
    values = [parse_value(quoted.quote), parse_value(quoted.chunk.text)]
    assert are_distinct(values) == are_distinct(values[::-1])


PROPERTIES = [
    Property(_quoted(), check)
    for check in (
        a_located_quote_is_at_its_place,
        whole_words_are_found,
        a_cited_unit_is_quoted_verbatim,
        any_claim_is_judged,
        any_value_is_compared,
    )
]
