"""The metadata lists pages to send as pictures: scans and pages with large figures."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from ingest.parser import Parser, load_parser
from ingest.reader import OcrMode, ParserOptions
from support.chunks import make_chunk
from support.files import write_chart, write_pdf, write_scan
from vectorstore.models import PICTURED_PAGES, PageSpan, page_ranges, pages_in

CAPTION = "Sales of the Borea 12 by quarter."
ROWS = [("Athlete", "Time"), *((f"Runner {number}", f"2:{number:02}:11") for number in range(25))]

with_tesseract = pytest.mark.skipif(shutil.which("tesseract") is None, reason="Tesseract is not installed")


@pytest.fixture
def parser() -> Parser:
    return load_parser("default", ParserOptions(ocr=OcrMode.AUTO))


def test_a_page_with_a_chart_is_listed(parser: Parser, tmp_path: Path) -> None:
    assert parser.parse(write_chart(tmp_path / "chart.pdf", CAPTION)).metadata[PICTURED_PAGES] == "1"


def test_a_page_with_a_small_chart_is_not_listed(parser: Parser, tmp_path: Path) -> None:
    assert PICTURED_PAGES not in parser.parse(write_chart(tmp_path / "chart.pdf", CAPTION, (5, 9, 7))).metadata


def test_a_page_full_of_text_is_not_listed(parser: Parser, tmp_path: Path) -> None:
    """Drawings among a full page of text are background. The bars of this one cover six of its words."""
    assert PICTURED_PAGES not in parser.parse(write_chart(tmp_path / "chart.pdf", "Many words. " * 155)).metadata


def test_prose_and_tables_are_not_figures(parser: Parser, tmp_path: Path) -> None:
    written = write_pdf(tmp_path / "written.pdf", parts=[("h1", "Results"), "The course was flat.", ("table", ROWS)])
    assert PICTURED_PAGES not in parser.parse(written).metadata


def test_an_image_on_a_page_is_a_figure(parser: Parser, tmp_path: Path) -> None:
    from fpdf import FPDF
    from PIL import Image

    Image.new("RGB", (300, 200), "grey").save(tmp_path / "photo.png")
    pdf = FPDF()
    pdf.set_font("Helvetica", size=11)
    pdf.add_page()
    pdf.multi_cell(0, 6, "Nothing to see here.")
    pdf.add_page()
    pdf.multi_cell(0, 6, "The pump in the cellar:", new_x="LMARGIN", new_y="NEXT")
    pdf.image(str(tmp_path / "photo.png"), w=120)
    pdf.output(str(tmp_path / "photo.pdf"))
    assert parser.parse(tmp_path / "photo.pdf").metadata[PICTURED_PAGES] == "2"


@with_tesseract
def test_pages_with_ocr_text_are_listed(parser: Parser, tmp_path: Path) -> None:
    written = write_pdf(tmp_path / "written.pdf", parts=["The course was flat and the morning cold."])
    scan = parser.parse(write_scan(tmp_path / "scan.pdf", [written, written]))
    assert scan.metadata[PICTURED_PAGES] == "1-2"
    assert parser.parse(write_scan(tmp_path / "scan.png", [written])).metadata[PICTURED_PAGES] == "1"


def test_a_passage_lists_its_pictured_pages() -> None:
    spans = tuple(PageSpan(number=number, start=number, end=number + 1) for number in (2, 3, 4))
    chunk = make_chunk("2345", page_spans=spans, metadata={PICTURED_PAGES: "1-2, 4, 12"})
    assert chunk.pictured_pages == (2, 4)
    assert make_chunk("2345", page_spans=spans).pictured_pages == ()


def test_pages_are_written_as_ranges() -> None:
    assert page_ranges((7, 2, 5, 6, 2)) == "2, 5-7"
    assert [list(pages) for pages in pages_in("2, 5-7")] == [[2], [5, 6, 7]]
    assert (page_ranges(()), pages_in("")) == ("", [])
