"""Accents that a PDF draws as characters of their own belong to their letters."""

from __future__ import annotations

from pathlib import Path

from fpdf import FPDF

from ingest.parser import load_parser
from support.raw_pdf import RawPage, write_raw_pdf

_OVER = r"{}) Tj [444 (\310) -111 ({})] TJ ("  # a dieresis over the last letter, in Adobe's standard encoding


def test_an_accent_over_a_letter_is_joined_with_it(tmp_path: Path) -> None:
    lines = [_OVER.format("Die Pru", "fung"), _OVER.format("J o", "rg"), r"sign \310 alone", "5 x ^ 2"]
    text = load_parser("default").parse(write_raw_pdf(tmp_path / "a.pdf", [RawPage(lines)])).text
    assert text.split() == ["Die", "Prüfung", "J", "örg", "sign", "¨", "alone", "5", "x", "^", "2"]


def test_an_accent_drawn_after_all_lines_is_joined_with_its_letter(tmp_path: Path) -> None:
    pdf = FPDF(unit="pt", format=(400, 400))
    pdf.add_page()
    pdf.set_font("helvetica", size=11)
    pdf.text(40, 60, "Die Prufung")
    pdf.text(40, 80, "beginnt heute.")
    pdf.text(40 + pdf.get_string_width("Die Pr") + 1.2, 60, "¨")
    pdf.output(str(tmp_path / "a.pdf"))
    assert load_parser("default").parse(tmp_path / "a.pdf").text == "Die Prüfung\nbeginnt heute."


def test_all_accents_of_a_page_that_are_drawn_last_are_joined(tmp_path: Path) -> None:
    pdf = FPDF(unit="pt", format=(400, 1000))
    pdf.add_page()
    pdf.set_font("helvetica", size=11)
    for each in range(60):
        pdf.text(40, 60 + 15 * each, "Die Prufung beginnt")
    for each in range(60):
        pdf.text(40 + pdf.get_string_width("Die Pr") + 1.2, 60 + 15 * each, "¨")
    pdf.output(str(tmp_path / "a.pdf"))
    assert load_parser("default").parse(tmp_path / "a.pdf").text.count("ü") == 60
