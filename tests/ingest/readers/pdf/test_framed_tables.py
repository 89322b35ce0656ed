"""Tables in frames: drawn as one path or in a form, with sideways heads, open sides, and heads stored elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from fpdf import FPDF

from ingest.parser import load_parser
from ingest.reader import OcrMode, ParserOptions
from support.raw_pdf import text_at, write_plain_pdf

LEFTS = (60, 160, 240, 320, 400)
ROWS = (("North", "12", "15", "18"), ("South", "22", "25", "28"), ("East", "32", "35", "38"))


def read(path: Path) -> str:
    return load_parser("default", ParserOptions(ocr=OcrMode.NEVER)).parse(path).text


def page() -> FPDF:
    pdf = FPDF(unit="pt", format=(595, 842))
    pdf.add_page()
    pdf.set_font("Helvetica", size=10)
    return pdf


def write(pdf: FPDF, path: Path) -> str:
    pdf.output(str(path))
    return read(path)


def cells(pdf: FPDF, row: Sequence[str], y: float) -> None:
    for x, text in zip(LEFTS, row, strict=False):
        pdf.text(x + 4, y, text)


def frames(pdf: FPDF, tops: Sequence[float], lefts: Sequence[float] = LEFTS) -> None:
    for top in tops:
        pdf.line(lefts[0], top, lefts[-1], top)
    for left in lefts:
        pdf.line(left, tops[0], left, tops[-1])


def test_frames_drawn_as_one_path_keep_wrapped_cells_together(tmp_path: Path) -> None:
    levels, sides = (700, 680, 640, 620), (60, 200, 300, 400)
    grid = "".join(f"60 {y} m 400 {y} l " for y in levels) + "".join(f"{x} 620 m {x} 700 l " for x in sides)
    texts = ((64, 687, "Item"), (204, 687, "Owner"), (304, 687, "Price"), (64, 667, "Repair of the"), (64, 651, "roof"))
    more = ((204, 660, "Works"), (304, 660, "120"), (64, 626, "Paint"), (204, 626, "Safety"), (304, 626, "80"))
    drawn = grid + "S\n" + "".join(text_at(x, y, text) for x, y, text in (*texts, *more))
    write_plain_pdf(tmp_path / "a.pdf", drawn)
    assert read(tmp_path / "a.pdf").endswith(
        "| Item | Owner | Price |\n| --- | --- | --- |\n| Repair of the roof | Works | 120 |\n| Paint | Safety | 80 |"
    )


def test_stroked_rectangles_are_frames_of_merged_cells(tmp_path: Path) -> None:
    pdf = page()
    for x, y, width, height, text in (
        (60, 100, 100, 20, "Survey"),
        (160, 100, 80, 20, "Homes"),
        (240, 100, 80, 20, "Group"),
        (60, 120, 100, 40, "Blood pressure"),
        (160, 120, 80, 40, "2400"),
        (240, 120, 80, 20, "Men"),
        (240, 140, 80, 20, "Women"),
    ):
        pdf.rect(x, y, width, height)
        pdf.text(x + 4, y + height / 2 + 4, text)
    text = write(pdf, tmp_path / "a.pdf")
    assert "| Blood pressure | 2400 | Men |\n| Blood pressure | 2400 | Women |" in text


def test_sideways_heads_of_several_lines_stand_above_their_columns(tmp_path: Path) -> None:
    pdf = page()
    frames(pdf, (100, 200, 220, 240, 260))
    pdf.text(64, 190, "Region")
    for x, lines in ((160, ("Population", "in thousands")), (240, ("Surplus",)), (320, ("Total need", "per adult"))):
        for number, line in enumerate(lines):
            with pdf.rotation(90, x + 30 + 12 * number, 195):
                pdf.text(x + 30 + 12 * number, 195, line)
    for number, row in enumerate(ROWS):
        cells(pdf, row, 214 + 20 * number)
    text = write(pdf, tmp_path / "a.pdf")
    assert "| Region | Population in thousands | Surplus | Total need per adult |\n" in text
    assert "| South | 22 | 25 | 28 |" in text


def test_heads_of_three_levels_stay_above_their_columns_in_any_order(tmp_path: Path) -> None:
    pdf = page()
    cells(pdf, ROWS[1], 194)
    frames(pdf, (100, 120, 140, 160, 180, 200, 220), LEFTS[:1] + LEFTS[-1:])
    for left in LEFTS[1:-1]:
        pdf.line(left, 140 if left == LEFTS[2] else 120, left, 220)
    cells(pdf, ROWS[0], 174)
    cells(pdf, ("Area", "Men", "Women", "Both"), 154)
    cells(pdf, ROWS[2], 214)
    pdf.text(200, 134, "By sex")
    pdf.text(200, 114, "Results of the survey")
    text = write(pdf, tmp_path / "a.pdf")
    assert (
        "| Results of the survey Area | Results of the survey By sex Men | Results of the survey By sex Women |" in text
    )
    assert text.endswith("| North | 12 | 15 | 18 |\n| South | 22 | 25 | 28 |\n| East | 32 | 35 | 38 |")


def test_a_table_with_open_sides_has_a_row_per_line_of_figures(tmp_path: Path) -> None:
    pdf = page()
    for level in (100, 120, 160, 200):
        pdf.line(LEFTS[0], level, LEFTS[-1], level)
    for left in LEFTS[1:-1]:
        pdf.line(left, 100, left, 200)
    cells(pdf, ("Layers", "Kind", "Simple", "All"), 114)
    for number, label in enumerate(("6", "4")):
        y = 144 + 40 * number
        cells(pdf, (label, "OTSL", f"0.96{number}", f"0.95{number}"), y)
        pdf.text(LEFTS[0] + 4, y, "")
        cells(pdf, ("", "HTML", f"0.92{number}", f"0.91{number}"), y + 11)
    text = write(pdf, tmp_path / "a.pdf")
    assert "| 6 | OTSL | 0.960 | 0.950 |\n| 6 | HTML | 0.920 | 0.910 |\n| 4 | OTSL | 0.961 | 0.951 |" in text


def test_heads_that_end_with_a_currency_are_separate(tmp_path: Path) -> None:
    pdf = page()
    for number, row in enumerate((("Trip", "Amount $", "Refund $", "Notes"), *ROWS)):
        cells(pdf, row, 100 + 16 * number)
    assert "| Trip | Amount $ | Refund $ | Notes |" in write(pdf, tmp_path / "a.pdf")


def test_a_footer_that_is_stored_between_the_heads_does_not_divide_a_table(tmp_path: Path) -> None:
    pdf = page()
    for x, text in zip(LEFTS[1:], ("Total", "Under 18", "Over 18"), strict=False):
        pdf.text(x, 100, text)
    pdf.text(60, 800, "206 Courts and prisons")
    for x, text in zip(LEFTS[1:], ("arrests", "years", "years"), strict=False):
        pdf.text(x, 112, text)
    for number, row in enumerate(ROWS):
        cells(pdf, row, 128 + 14 * number)
    text = write(pdf, tmp_path / "a.pdf")
    assert "|  | Total arrests | Under 18 years | Over 18 years |\n" in text
    assert text.endswith("206 Courts and prisons")


def test_the_frame_of_a_whole_table_is_no_cell(tmp_path: Path) -> None:
    pdf = page()
    frames(pdf, (100, 120), LEFTS)
    frames(pdf, (122, 200), (LEFTS[0], LEFTS[-1]))
    cells(pdf, ("Region", "Men", "Women", "Both"), 114)
    for number, row in enumerate(ROWS):
        cells(pdf, row, 140 + 20 * number)
    assert "| Region | Men | Women | Both |\n| --- | --- | --- | --- |\n| North | 12 | 15 | 18 |" in write(
        pdf, tmp_path / "a.pdf"
    )


def test_heads_above_the_frames_of_numbered_rows_belong_to_them(tmp_path: Path) -> None:
    pdf = page()
    pdf.rect(LEFTS[0], 90, LEFTS[-1] - LEFTS[0], 30)
    for x, lines in zip(LEFTS, (("No.",), ("Offense",), ("Felony", "or other"), ("Max", "term")), strict=False):
        for number, line in enumerate(lines):
            pdf.text(x + 4, 102 + 12 * number + (6 if len(lines) == 1 else 0), line)
    frames(pdf, (130, 150, 170, 190))
    for number, row in enumerate(
        (("1", "Arson", "Felony", "40Y"), ("2", "Theft", "other", "5Y"), ("3", "Fraud", "", ""))
    ):
        cells(pdf, row, 144 + 20 * number)
    text = write(pdf, tmp_path / "a.pdf")
    assert (
        "| No. | Offense | Felony or other | Max term |\n| --- | --- | --- | --- |\n| 1 | Arson | Felony | 40Y |"
        in text
    )
