"""Chunks have exact spans, cover every word, fit the model's limit and keep the document's structure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ingest.chunking.chunker import LETTERS_PER_TOKEN, Chunker, Source
from ingest.document import Fact, FactSource, ParsedDocument
from ingest.readers.markup.markdown import write_markdown
from ingest.readers.shared.document_builder import DocumentBuilder
from vectorstore.embedding.embedder import Embedder
from vectorstore.models import Chunk, ChunkKind

SOURCE = Source(document_id="id", path="/docs/field guide.md", name="field guide.md", version="0" * 64)
SENTENCE = "The pump moves heat from the cold air outside to the warm water of the floor. "


@pytest.fixture
def chunk(embedder: Embedder) -> Callable[..., list[Chunk]]:
    def chunk(document: ParsedDocument | str, budget: int = 64, overlap: int = 0) -> list[Chunk]:
        parsed = parse(document) if isinstance(document, str) else document
        return Chunker(embedder.count_tokens, budget, overlap).chunk(parsed, SOURCE)

    return chunk


def parse(markdown: str) -> ParsedDocument:
    builder = DocumentBuilder()
    write_markdown(markdown, builder)
    return builder.build(parser="test", mime_type="text/markdown")


def stating(document: ParsedDocument, **facts: str | tuple[str, str]) -> ParsedDocument:
    """Return the document with these facts. Each is a value, or a value and its printed form."""
    pairs = {name: fact if isinstance(fact, tuple) else (fact, fact) for name, fact in facts.items()}
    found = {
        name: Fact(value=value, printed=printed, quote=printed, source=FactSource.RULE)
        for name, (value, printed) in pairs.items()
    }
    return document.model_copy(update={"facts": found})


@pytest.mark.parametrize("joint", ["\u200b", "\u2060", "\u00ad", "\ufeff", "\u30fc", "x"])
def test_words_without_spaces_make_no_endless_chunk(chunk: Callable[..., list[Chunk]], joint: str) -> None:
    text = joint.join(["pump"] * 1_000)
    table = f"| {text} | b |\n|---|---|\n| 1 | 2 |\n| 3 | {text} |"
    for document in (text, f"# Pumps\n\n{text}", table):
        chunks = chunk(document)
        assert max(len(each.embedded_text) for each in chunks) <= 64 * (LETTERS_PER_TOKEN + 1)
        assert sum(len(each.text) for each in chunks) >= 4_000


def test_words_that_have_more_tokens_together_make_no_endless_division() -> None:
    def count(texts: Sequence[str]) -> list[int]:
        return [2 * words if (words := len(text.split())) > 1 else words for text in texts]

    chunks = Chunker(count, 40, 0).chunk(parse("pump " * 400), SOURCE)
    assert max(count([each.embedded_text for each in chunks])) <= 40
    assert sum(len(each.text.split()) for each in chunks) == 400


# Properties of all documents

words = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), min_size=1, max_size=30)
prose = st.lists(words, min_size=1, max_size=60).map(" ".join)
rows = st.integers(1, 5).flatmap(lambda width: st.lists(st.lists(words, min_size=width, max_size=width), max_size=30))
pages = st.integers(1, 9)
parts = st.lists(
    st.one_of(
        st.tuples(st.just("heading"), words, st.integers(1, 4)),
        st.tuples(st.just("prose"), prose),
        st.tuples(st.just("code"), prose),
        st.tuples(st.just("list"), st.lists(prose, min_size=1, max_size=8)),
        st.tuples(st.just("table"), rows),
        st.tuples(st.just("page")),
    ),
    max_size=12,
)


def build(parts: list[tuple[object, ...]]) -> ParsedDocument:
    builder = DocumentBuilder()
    page = 0
    for part in parts:
        match part:
            case ("heading", str(text), int(level)):
                builder.heading(text, level)
            case ("prose", str(text)):
                builder.prose(text)
            case ("code", str(text)):
                builder.code(text)
            case ("list", list(items)):
                builder.list_items([f"- {item}" for item in items])
            case ("table", list(table)):
                builder.table(table)
            case _:
                page += 1
                builder.page(page)
    return builder.build(parser="test", mime_type="text/plain")


@example(
    parts=[("heading", "0", 1), ("list", ["0", "0", "0 0", "0: 00000000 0 0:0:0::0 0:0 0:0 0:0A02:0:", "0: 00000000"])],
    budget=60,
    overlap=8,
)
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(parts=parts, budget=st.sampled_from([32, 60, 254]), overlap=st.sampled_from([0, 0, 8]))
def test_spans_are_exact_complete_and_within_the_budget(
    embedder: Embedder, parts: list[tuple[object, ...]], budget: int, overlap: int
) -> None:
    parsed = build(parts)
    chunks = Chunker(embedder.count_tokens, budget, overlap).chunk(parsed, SOURCE)

    covered = bytearray(len(parsed.text))
    for chunk in chunks:
        assert parsed.text[chunk.start : chunk.end] == chunk.text
        covered[chunk.start : chunk.end] = b"x" * len(chunk.text)
        if chunk.header:
            assert parsed.text[chunk.header.start : chunk.header.end] == chunk.header.text
        for span in chunk.page_spans:
            (page,) = [page for page in parsed.pages if page.number == span.number]
            assert page.start <= span.start < span.end <= page.end
    assert [c for c, seen in zip(parsed.text, covered, strict=True) if not seen and not c.isspace()] == []
    assert all(count <= budget for count in embedder.count_tokens([chunk.embedded_text for chunk in chunks]))
    assert [chunk.index for chunk in chunks] == list(range(len(chunks)))
    assert all(first.start < second.start for first, second in pairwise(chunks))
    if not overlap:
        assert all(first.end <= second.start for first, second in pairwise(chunks))


@pytest.mark.parametrize("budget", range(12, 30))
def test_a_character_without_tokens_is_not_repeated(embedder: Embedder, budget: int) -> None:
    """The splitter of llama-index repeats parts of zero tokens, such as an accent alone."""
    parsed = build([("list", ["0 0 0 0 0 0 0 0 0:0: \u0300 0A02:0: 000000000000"])])
    chunks = Chunker(embedder.count_tokens, budget, 0).chunk(parsed, SOURCE)
    assert "".join("".join(chunk.text.split()) for chunk in chunks) == "".join(parsed.text.split())


# Sections


def test_a_chunk_has_the_headings_above_it(chunk: Callable[..., list[Chunk]]) -> None:
    chunks = chunk(f"# Guide\n\n{SENTENCE * 3}\n\n## Limits\n\n{SENTENCE * 3}\n\n### Cold\n\n{SENTENCE * 3}")
    assert [(c.title, c.section) for c in chunks] == [
        ("Guide", ()),
        ("Guide", ("Limits",)),
        ("Guide", ("Limits", "Cold")),
    ]
    assert chunks[2].embedded_text.startswith("Guide › Limits › Cold\nCold\n\nThe pump")


def test_a_heading_stays_with_what_follows(chunk: Callable[..., list[Chunk]]) -> None:
    chunks = chunk(f"{SENTENCE * 2}\n\n# One\n\n## Two\n\n{SENTENCE * 9}")
    assert [c.text[:8] for c in chunks if "One" in c.text] == ["One\n\nTwo"]
    assert "The pump moves" in next(c.text for c in chunks if c.text.startswith("One"))


def test_short_paragraphs_of_a_section_share_a_chunk(chunk: Callable[..., list[Chunk]]) -> None:
    assert len(chunk("# Notes\n\n" + "\n\n".join(f"Note {n} is short." for n in range(5)))) == 1


def test_a_tiny_section_shares_a_chunk_with_its_sibling(chunk: Callable[..., list[Chunk]]) -> None:
    chunks = chunk("# Terms\n\n## Heat\n\nEnergy.\n\n## Work\n\nForce.", budget=254)
    assert [(c.section, c.text) for c in chunks] == [((), "Terms\n\nHeat\n\nEnergy.\n\nWork\n\nForce.")]


def test_no_section_loses_its_name(chunk: Callable[..., list[Chunk]]) -> None:
    """A chunk that begins inside a section has it in its path; one that begins with headings has them in its text."""
    sections = "".join(f"## Part {n}\n\n### Detail {n}\n\n{SENTENCE * (n % 4 + 1)}\n\n" for n in range(12))
    for part in chunk(f"# Manual\n\n{sections}", budget=100):
        named = part.embedded_text
        for line in part.text.split("\n\n"):
            if line.startswith("The pump"):
                assert "Detail" in named.split("The pump")[0]
                assert "Part" in named.split("The pump")[0]
    starts = [c.section for c in chunk(f"# Manual\n\n## Long\n\n{SENTENCE * 12}\n\n## Next\n\nShort.", budget=100)]
    assert starts[-1] == ("Long",), "begins inside the section Long and contains the section Next with its heading"


@pytest.mark.parametrize(
    ("markdown", "title"),
    [
        ("---\ntitle: From the front\n---\n# Heading\n\nText.", "Heading"),
        ("# Heading\n\nText.", "Heading"),
        ("Text only.", "field guide"),
        ("# 2024\n\nText.", "field guide"),
        (f"{SENTENCE * 9}\n\n# Annex\n\nText.", "field guide"),
        (f"# {SENTENCE * 9}\n\nText.", "field guide"),
    ],
)
def test_the_title_is_the_first_heading_or_the_file_name(
    chunk: Callable[..., list[Chunk]], markdown: str, title: str
) -> None:
    assert {c.title for c in chunk(markdown)} == {title}


def test_the_title_fact_comes_first(chunk: Callable[..., list[Chunk]]) -> None:
    assert chunk(stating(parse("# Heading\n\nText."), title="Own title"))[0].title == "Own title"


def test_entities_in_titles_and_headings_are_decoded(chunk: Callable[..., list[Chunk]]) -> None:
    builder = DocumentBuilder()
    builder.heading("The &quot;Lee&quot; House", 1)
    builder.heading("Salt &amp; Oil", 2)
    builder.prose("It is red.")
    [found] = chunk(builder.build(parser="test", mime_type="text/plain"))
    assert (found.title, found.section) == ('The "Lee" House', ("Salt & Oil",))


def test_a_title_that_is_only_in_the_file_properties_is_ignored(chunk: Callable[..., list[Chunk]]) -> None:
    assert chunk(parse("# Heading\n\nText.").model_copy(update={"title": "EDGAR PDF"}))[0].title == "Heading"


def test_the_context_line_has_issuer_and_period_as_printed(chunk: Callable[..., list[Chunk]]) -> None:
    document = stating(parse("Text."), issuer="Borea Inc.", period=("2023-07-01", "July 1, 2023"), currency="EUR")
    (passage,) = chunk(document)
    assert passage.embedded_text == "field guide › Borea Inc., July 1, 2023\nText."
    assert passage.metadata == {"issuer": "Borea Inc.", "period": "2023-07-01", "currency": "EUR"}


def test_the_context_line_omits_facts_that_the_title_contains(chunk: Callable[..., list[Chunk]]) -> None:
    document = stating(parse("Text."), title="Report of Borea Inc", issuer="BOREA, INC.", period="July 1, 2023")
    assert chunk(document)[0].embedded_text == "Report of Borea Inc › July 1, 2023\nText."


def test_facts_longer_than_a_quarter_of_the_budget_are_omitted(chunk: Callable[..., list[Chunk]]) -> None:
    document = stating(parse("# Heading\n\nText."), issuer="Association of the Makers of Heat Pumps in the North Ltd")
    assert chunk(document, budget=32)[0].about == ""
    assert chunk(document, budget=128)[0].about.startswith("Association")


@pytest.mark.parametrize(("stated", "title"), [("Heat pumps of 2024", "Heat pumps of 2024"), ("", "field guide")])
def test_a_workbook_is_not_called_after_its_first_sheet(
    chunk: Callable[..., list[Chunk]], stated: str, title: str
) -> None:
    builder = DocumentBuilder()
    builder.heading("Models", level=2)
    builder.table([["Model", "Price"], ["Borea", "5"]])
    mime_type = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    [found] = chunk(builder.build(parser="test", mime_type=mime_type, title=stated))
    assert (found.title, tuple(found.section)) == (title, ("Models",))


def test_a_pdf_without_a_title_gets_its_file_name_as_title(chunk: Callable[..., list[Chunk]]) -> None:
    """The heading of a form is the same for all reports, so it is not a title."""
    builder = DocumentBuilder()
    builder.heading("SECURITIES AND EXCHANGE COMMISSION", 1)
    builder.prose("Net sales were $82,959 million.")
    form = builder.build(parser="test", mime_type="application/pdf", title="0000320193-22-000070")
    assert chunk(form)[0].title == "field guide"
    assert chunk(stating(form, title="Report of June"))[0].title == "Report of June"


# Kinds


def test_a_table_that_fits_is_not_split(chunk: Callable[..., list[Chunk]]) -> None:
    table = "| a | b |\n| --- | --- |\n| 1 | 2 |\n| 3 | 4 |"
    chunks = chunk(f"{SENTENCE * 3}\n\n{table}\n\n{SENTENCE * 3}")
    assert [table in c.text for c in chunks if "| 1 |" in c.text or "| 3 |" in c.text] == [True]


@pytest.mark.parametrize("where", ["above", "below"])
@pytest.mark.parametrize("rows", [3, 40])
def test_a_caption_stays_with_its_table(chunk: Callable[..., list[Chunk]], where: str, rows: int) -> None:
    caption = "Table 3: Heat given off"
    table = "| room | heat |\n| --- | --- |\n" + "\n".join(f"| room {n} | {n} kW |" for n in range(rows))
    both = f"{caption}\n\n{table}" if where == "above" else f"{table}\n\n{caption}"
    chunks = chunk(f"{SENTENCE * 4}\n\n{both}\n\n{SENTENCE * 4}", budget=100)
    (captioned,) = [c.text for c in chunks if caption in c.text]
    assert f"{caption}\n\n| room | heat |" in captioned or f"kW |\n\n{caption}" in captioned


def test_a_list_stays_with_the_sentence_that_introduces_it(chunk: Callable[..., list[Chunk]]) -> None:
    chunks = chunk(f"{SENTENCE * 4}What it needs is this.\n\n- A well.\n- A cellar.\n\n{SENTENCE * 4}", budget=100)
    assert [c for c in chunks if "What it needs is this.\n\n- A well." in c.text]


def test_a_long_text_leaves_no_short_remainder(chunk: Callable[..., list[Chunk]]) -> None:
    sizes = [c.text.count("The pump") for c in chunk(SENTENCE * 14, budget=100)]
    assert sum(sizes) == 14
    assert max(sizes) - min(sizes) <= 1


def test_every_part_of_a_split_table_repeats_the_header(chunk: Callable[..., list[Chunk]]) -> None:
    header = "| Runner | Time |\n| --- | --- |"
    rows = [f"| Runner number {n} | 2:0{n % 10}:11 |" for n in range(40)]
    chunks = chunk("# Results\n\n" + "\n".join([header, *rows]), budget=100)
    assert len(chunks) > 3
    assert chunks[0].text.startswith(f"Results\n\n{header}\n{rows[0]}")
    assert all(c.header and c.header.text == header and c.reading_text.startswith(header) for c in chunks[1:])
    assert [line for c in chunks for line in c.text.splitlines() if "Runner number" in line] == rows
    sizes = [len(c.text.splitlines()) for c in chunks[1:]]
    assert max(sizes) - min(sizes) <= 3, "parts of about equal size"


def test_a_list_of_names_and_values_is_one_table_for_each_record(chunk: Callable[..., list[Chunk]]) -> None:
    people = [("Ada", "1815", "Wrote the first program."), ("Emmy", "1882", "Proved a theorem."), ("Lise", "1878", "-")]
    builder = DocumentBuilder()
    builder.page(1)
    rows = [row for name, *rest in people for row in zip(("Name", "Born", "Known for"), (name, *rest), strict=True)]
    builder.table(rows, pages=[(4, 2)])
    parsed = builder.build(parser="test", mime_type="text/plain")
    assert [block.header_end for block in parsed.blocks] == [None] * 3
    assert [parsed.text[page.start :][:15] for page in parsed.pages] == ["| Name | Ada |\n", "| Born | 1882 |"]
    chunks = chunk(parsed, budget=30)
    assert [one.text.count("| Name |") for one in chunks] == [1] * len(chunks)
    assert not any(one.header for one in chunks)


def test_a_label_that_recurs_alone_starts_no_record() -> None:
    builder = DocumentBuilder()
    builder.table([["Year", "Sales"], ["2022", "5"], ["Year", "7"], ["2024", "9"]])
    (block,) = builder.build(parser="test", mime_type="text/plain").blocks
    assert block.header_end is not None


def test_a_row_longer_than_a_chunk_is_split_completely(chunk: Callable[..., list[Chunk]]) -> None:
    row = f"| 1 | {SENTENCE * 12}|"
    chunks = chunk(f"| n | text |\n| --- | --- |\n{row}\n| 2 | short |")
    assert sum(c.text.count("The pump moves heat") for c in chunks) == 12


def test_lists_and_code_are_split_between_lines(chunk: Callable[..., list[Chunk]]) -> None:
    items = [f"- item {n}: {SENTENCE.strip()}" for n in range(8)]
    code = [f"value_{n} = compute(value_{n - 1}, factor={n})" for n in range(30)]
    chunks = chunk("\n".join(items) + "\n\n```\n" + "\n".join(code) + "\n```")
    lines = {line for c in chunks for line in c.text.splitlines()}
    assert {*items, *code} <= lines
    assert {c.kind for c in chunks} == {ChunkKind.LIST, ChunkKind.CODE}


def test_prose_is_split_between_sentences(chunk: Callable[..., list[Chunk]]) -> None:
    for part in chunk(SENTENCE * 20):
        assert part.text.startswith("The pump")
        assert part.text.endswith("floor.")


def test_overlap_repeats_the_sentence_before(chunk: Callable[..., list[Chunk]]) -> None:
    chunks = chunk(" ".join(f"Sentence number {n} says something new." for n in range(40)), overlap=16)
    assert all(second.start < first.end for first, second in pairwise(chunks))


def test_a_quote_has_the_pages_of_its_span(chunk: Callable[..., list[Chunk]]) -> None:
    builder = DocumentBuilder()
    builder.page(1)
    builder.prose("First page.")
    builder.page(2)
    builder.prose("Second page.")
    (only,) = chunk(builder.build(parser="test", mime_type="application/pdf"))
    start = only.text.index("Second")
    assert only.pages == (1, 2)
    assert only.pages_of(start, start + 6) == (2,)
    assert only.pages_of(0, 5) == (1,)


def test_ids_depend_on_document_version_and_position(chunk: Callable[..., list[Chunk]]) -> None:
    assert [c.id for c in chunk(SENTENCE * 20)] == [c.id for c in chunk(SENTENCE * 20)]
    assert len({c.id for c in chunk(SENTENCE * 20)}) == len(chunk(SENTENCE * 20))


def test_the_fingerprint_depends_on_settings(embedder: Embedder) -> None:
    assert Chunker(embedder.count_tokens, 254).fingerprint == "sections-v6/254"
    assert Chunker(embedder.count_tokens, 254, overlap=16).fingerprint == "sections-v6/254/overlap-16"


def test_a_chunk_knows_the_sections_that_begin_inside_it(chunk: Callable[..., list[Chunk]]) -> None:
    [whole] = chunk(
        "# Manual\n\nIntro.\n\n## Place\n\nOutside.\n\n### Room\n\n30 cm.\n\n## Cost\n\n9,000.\n", budget=200
    )
    assert whole.section == ()
    expected = {"Intro.": (), "Outside.": ("Place",), "30 cm.": ("Place", "Room"), "9,000.": ("Cost",)}
    assert {text: whole.section_of(whole.text.index(text)) for text in expected} == expected


def test_a_short_note_is_counted_in_three_calls(embedder: Embedder) -> None:
    """A worker process asks the ingest for each count, which takes longer than counting a short text."""
    counted: list[list[str]] = []

    def count(texts: Sequence[str]) -> list[int]:
        counted.append(list(texts))
        return embedder.count_tokens(texts)

    [chunk] = Chunker(count, 64).chunk(parse("The pump is quiet."), SOURCE)
    assert sorted(counted) == [["The pump is quiet."], ["field guide"], [chunk.embedded_text]]
