"""The numbers that are printed on the pages of a PDF stand beside the page numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from api.services.documents.contents import find_text, page_number, text_part
from api.services.research.execution_summary import describe_place
from ingest.chunking.chunker import Chunker, Source
from ingest.document import ParsedDocument
from ingest.errors import PageNotShown
from ingest.ledger.records import DocumentText
from ingest.ledger.rows import PAGES
from ingest.parser import Parser, load_parser
from multi_agent.grounding.citations import evidence_in
from multi_agent.prompts.show_passages import show_location
from multi_agent.values.answer import Quote
from support.chunks import make_chunk
from vectorstore.models import PageSpan, page_labels, printed_pages

CASE = Path(__file__).parents[2] / "cases" / "32-page-labels" / "q12_labels.pdf"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def write_labelled(path: Path, *labels: tuple[str | None, str, int]) -> Path:
    """Write a page per label (style, prefix, number). Each page begins a series of its own."""
    from fpdf import FPDF

    pdf = FPDF()
    for number, (style, prefix, start) in enumerate(labels, start=1):
        pdf.add_page(label_style=style, label_prefix=prefix or None, label_start=start)
        pdf.set_font("Helvetica", size=11)
        pdf.multi_cell(0, 6, f"The words of sheet {number}.")
    pdf.output(str(path))
    return path


def text_of(document: ParsedDocument) -> DocumentText:
    return DocumentText(text=document.text, blocks=document.blocks, pages=document.pages)


def test_the_labels_of_a_pdf_are_read(parser: Parser) -> None:
    document = parser.parse(CASE)
    assert page_labels(document.pages) == {1: "i", 2: "ii", 3: "1", 4: "2"}
    third = document.pages[2]
    assert "the fee is 42 EUR" in document.text[third.start : third.end]


def test_prefixes_letters_and_series_are_read(parser: Parser, tmp_path: Path) -> None:
    written = write_labelled(
        tmp_path / "manual.pdf",
        (None, "Cover", 1), ("r", "", 3), ("D", "", 3), ("D", "A-", 1), ("a", "", 2), ("D", "x" * 300, 1),
    )  # fmt: skip
    labels = page_labels(parser.parse(written).pages)
    assert labels == {1: "Cover", 2: "iii", 4: "A-1", 5: "b", 6: "x" * 40}


def test_without_labels_of_its_own_nothing_is_stored(parser: Parser, tmp_path: Path) -> None:
    document = parser.parse(write_labelled(tmp_path / "plain.pdf", ("D", "", 1), ("D", "", 2)))
    assert [span.number for span in document.pages] == [1, 2]
    assert b"label" not in PAGES.dump_json(document.pages)
    assert printed_pages(page_labels(document.pages), (1, 2)) == ""


def test_a_passage_a_quote_and_a_search_hit_have_the_printed_number() -> None:
    spans = (PageSpan(number=7, start=0, end=6, label="iii"), PageSpan(number=8, start=6, end=12, label="iv"))
    chunk = make_chunk("seven. eight.", document="/docs/a.pdf", page_spans=spans)
    assert show_location(chunk) == "a.pdf, pages 7-8 (printed iii to iv)"
    assert show_location(chunk, [8]) == "a.pdf, page 8 (printed iv)"
    quote = Quote.of(evidence_in(chunk, 0, 6, "seven.", pages=(7,)), "a.pdf")
    assert quote.printed_pages == "iii"
    assert describe_place(quote) == "a.pdf, page 7 (printed iii)"
    assert "printed_pages" not in quote.model_copy(update={"printed_pages": ""}).model_dump()


def test_pages_that_were_stored_without_labels_are_read() -> None:
    assert PAGES.validate_json(b'[{"number": 3, "start": 0, "end": 9}]') == (PageSpan(number=3, start=0, end=9),)


def test_a_range_of_labelled_and_other_pages() -> None:
    assert printed_pages({7: "iii"}, (7, 8, 9)) == "iii to 9"
    assert printed_pages({7: "iii"}, ()) == ""


def test_a_page_is_found_by_its_number_or_else_by_its_printed_number(parser: Parser, tmp_path: Path) -> None:
    article = text_of(
        parser.parse(write_labelled(tmp_path / "article.pdf", ("r", "", 1), ("D", "", 512), ("D", "", 1)))
    )
    assert [page_number(article, wanted) for wanted in ("1", "2", "i", "I", "512")] == [1, 2, 1, 1, 2]
    assert page_number(article, "9") == 9  # page_text refuses it
    for wanted in ("ii", "0", "-1", "Ⅷ"):
        with pytest.raises(PageNotShown, match="No page has the printed number"):
            page_number(article, wanted)


def test_parts_and_places_of_a_text_have_the_labels(parser: Parser) -> None:
    text = text_of(parser.parse(CASE))
    assert text_part(text).page_labels == {1: "i", 2: "ii", 3: "1", 4: "2"}
    (place,) = find_text(text, "fee is", 0, 10).places
    assert (place.page, place.printed_pages) == (3, "1")
    decomposed = DocumentText(text="Herr Jo\u0308rg", blocks=(), pages=())
    assert [find_text(decomposed, name, 0, 10).total for name in ("J\u00f6rg", "Jo\u0308rg", "Jorg")] == [1, 1, 0]


def test_passages_keep_the_labels_of_their_pages(parser: Parser) -> None:
    source = Source(document_id="d", path=str(CASE), name=CASE.name, version="v")
    chunks = Chunker(lambda texts: [len(text.split()) for text in texts], 64, 16).chunk(parser.parse(CASE), source)
    assert {span.label for chunk in chunks for span in chunk.page_spans} == {"i", "ii", "1", "2"}
