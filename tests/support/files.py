"""Writes files of many formats for tests, with common libraries."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

Rows = Sequence[Sequence[str]]


def copy_folder(folder: Path | str, to: Path) -> Path:
    """Copy a folder to a path that does not exist, and return it. Files of a store stay sparse."""
    subprocess.run(["cp", "-r", "--sparse=always", folder, to], check=True)
    return to


def write_pdf(path: Path, *, title: str = "", footer: str = "", parts: Sequence[object] = ()) -> Path:
    """Write a PDF of parts: ``("h1" | "h2", text)``, ``("table", rows)``, ``("page",)``, or a paragraph's text."""
    from fpdf import FPDF

    class Document(FPDF):
        def footer(self) -> None:
            self.set_y(-15)
            self.set_font("Helvetica", size=8)
            self.cell(0, 10, footer.format(page=self.page_no()), align="C")

    pdf = Document() if footer else FPDF()
    if title:
        pdf.set_title(title)
    pdf.add_page()
    for part in parts:
        match part:
            case ("h1" | "h2" as level, str(text)):
                pdf.set_font("Helvetica", "B", 20 if level == "h1" else 14)
                pdf.multi_cell(0, 12, text, new_x="LMARGIN", new_y="NEXT")
            case ("table", rows):
                pdf.set_font("Helvetica", size=11)
                with pdf.table() as table:
                    for row in rows:
                        table.row([str(cell) for cell in row])
            case ("page",):
                pdf.add_page()
            case str(text):
                pdf.set_font("Helvetica", size=11)
                pdf.multi_cell(0, 6, text, new_x="LMARGIN", new_y="NEXT")
                pdf.ln(6)
    pdf.output(str(path))
    return path


def write_docx(path: Path, parts: Sequence[object]) -> Path:
    """Write a Word document of parts: ``("h1" | "h2", text)``, ``("table", rows)``, or a paragraph's text."""
    import docx

    document = docx.Document()
    for part in parts:
        match part:
            case ("h1" | "h2" as level, str(text)):
                document.add_heading(text, level=int(level[1]))
            case ("table", rows):
                table = document.add_table(rows=0, cols=len(rows[0]))
                for row in rows:
                    for cell, value in zip(table.add_row().cells, row, strict=True):
                        cell.paragraphs[0].add_run(value).bold = row is rows[0]
            case str(text):
                document.add_paragraph(text)
    document.save(str(path))
    return path


def write_xlsx(path: Path, sheets: dict[str, Rows]) -> Path:
    """Write a workbook of these sheets."""
    import openpyxl

    workbook = openpyxl.Workbook()
    workbook.remove(workbook.active)
    for name, rows in sheets.items():
        sheet = workbook.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    workbook.save(path)
    return path


def write_encrypted_pdf(path: Path) -> Path:
    """Write a PDF that requires a password."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.set_encryption(owner_password="owner", user_password="user")
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.cell(0, 10, "secret")
    pdf.output(str(path))
    return path


def write_chart(path: Path, caption: str, bars: Sequence[int] = (30, 90, 60)) -> Path:
    """Write a one-page PDF with a caption and a bar chart: filled rectangles without text."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    pdf.set_font("Helvetica", size=11)
    pdf.multi_cell(0, 6, caption, new_x="LMARGIN", new_y="NEXT")
    pdf.set_fill_color(20, 60, 140)
    for number, height in enumerate(bars):
        pdf.rect(30 + 55 * number, 200 - height, 45, height, style="F")
    pdf.output(str(path))
    return path


def make_png(width: int = 40, height: int = 30) -> bytes:
    """Return a white PNG image."""
    import io

    from PIL import Image

    out = io.BytesIO()
    Image.new("RGB", (width, height), "white").save(out, "PNG")
    return out.getvalue()


def write_scan(path: Path, pages: Sequence[Path | None], *, dpi: int = 200) -> Path:
    """Write a PDF of images: each is the first page of another PDF, or blank for None."""
    import pypdfium2

    images = []
    for source in pages:
        document = pypdfium2.PdfDocument(source) if source else pypdfium2.PdfDocument.new()
        page = document[0] if source else document.new_page(595, 842)
        images.append(page.render(scale=dpi / 72).to_pil().convert("RGB"))
        document.close()
    images[0].save(path, "PDF" if path.suffix == ".pdf" else None, dpi=(dpi, dpi), **_more(path, images[1:]))
    return path


def write_page_with_picture(path: Path, picture: Image, *, strips: int = 1) -> Path:
    """Write a page of prose with a picture (of PIL) in its middle, cut into strips. It covers a tenth of the page."""
    from fpdf import FPDF

    pdf = FPDF(unit="pt", format="A4")
    pdf.add_page()
    pdf.set_font("helvetica", size=11)
    prose = "The tenant pays the rent on the third working day of each month. " * 12
    pdf.multi_cell(0, 14, f"{prose} This line stands before the picture.")
    top, height = pdf.get_y() + 10, 150 / strips
    for number in range(strips):
        first, last = (picture.height * each // strips for each in (number, number + 1))
        pdf.image(picture.crop((0, first, picture.width, last)), x=60, y=top + height * number, w=420, h=height)
    pdf.set_y(top + 170)
    pdf.multi_cell(0, 14, f"{prose} This line stands after the picture.")
    pdf.output(str(path))
    return path


def _more(path: Path, images: Sequence[object]) -> dict[str, object]:
    return {"save_all": True, "append_images": images} if path.suffix == ".pdf" else {}
