"""Builds the binary sample documents from their sources, with the same bytes every time.

    python -m sample_docs.build [FOLDER]     (default: sample_docs/documents)

``sources/NAME.typ`` becomes NAME.pdf (Typst), ``NAME.md`` becomes NAME.docx, and a folder NAME of CSV files becomes
NAME.xlsx with one sheet per file. The other documents in ``documents/`` are text files without a source.
"""

from __future__ import annotations

import csv
import re
import sys
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import typst
from docx import Document
from docx.document import Document as DocxDocument
from docx.shared import Pt
from docx.text.paragraph import Paragraph
from openpyxl import Workbook
from openpyxl.styles import Alignment, Font
from openpyxl.worksheet.worksheet import Worksheet

HERE = Path(__file__).parent
SOURCES = HERE / "sources"
DOCUMENTS = HERE / "documents"
ZIP_TIME = (2024, 11, 7, 9, 0, 0)
WRITTEN = datetime(*ZIP_TIME, tzinfo=UTC)
BLANK_LINES = re.compile(r"\n\s*\n")
EMPHASIS = re.compile(r"(\*\*.+?\*\*|\*.+?\*)")
MODIFIED = re.compile(rb"(<dcterms:modified[^>]*>)[^<]*")


def build(folder: Path) -> list[Path]:
    """Build every binary document into ``folder`` and return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    pdfs = [build_pdf(source, folder) for source in sorted(SOURCES.glob("*.typ"))]
    docxs = [build_docx(source, folder) for source in sorted(SOURCES.glob("*.md"))]
    xlsxs = [build_xlsx(source, folder) for source in sorted(SOURCES.iterdir()) if source.is_dir()]
    return pdfs + docxs + xlsxs


def build_pdf(source: Path, folder: Path) -> Path:
    """Typeset a Typst file with Typst's own fonts, so that page breaks are the same on every machine."""
    target = folder / f"{source.stem}.pdf"
    typst.compile(source, output=target, ignore_system_fonts=True, timestamp=WRITTEN)
    return target


def build_docx(source: Path, folder: Path) -> Path:
    """Turn Markdown (headings, paragraphs, tables, emphasis) into a Word document."""
    document = Document()
    document.styles["Normal"].font.name = "Georgia"
    document.styles["Normal"].font.size = Pt(10.5)
    blocks = BLANK_LINES.split(source.read_text(encoding="utf-8").strip())
    for block in blocks:
        add_block(document, block)
    properties = document.core_properties
    properties.title = blocks[0].lstrip("# ")
    properties.author = "Candor sample documents"
    properties.comments = ""
    properties.created = properties.modified = WRITTEN
    target = folder / f"{source.stem}.docx"
    document.save(str(target))
    return fix_zip(target)


def add_block(document: DocxDocument, block: str) -> None:
    """Add one Markdown block to the Word document. The first heading level is the document's title."""
    if block.startswith("#"):
        marks, _, heading = block.partition(" ")
        document.add_heading(heading, level=len(marks) - 1)
    elif block.startswith("|"):
        add_table(document, [split_row(line) for line in block.splitlines() if not line.startswith("|-")])
    else:
        add_emphasized(document.add_paragraph(), " ".join(block.splitlines()))


def split_row(line: str) -> list[str]:
    """Return the cells of a Markdown table row."""
    return [cell.strip() for cell in line.strip("|").split("|")]


def add_table(document: DocxDocument, rows: list[list[str]]) -> None:
    """Add a bordered table whose first row is its header."""
    table = document.add_table(rows=0, cols=len(rows[0]), style="Table Grid")
    for number, row in enumerate(rows):
        for cell, text in zip(table.add_row().cells, row, strict=True):
            add_emphasized(cell.paragraphs[0], f"**{text}**" if number == 0 else text)
    document.add_paragraph()


def add_emphasized(paragraph: Paragraph, text: str) -> None:
    """Add text with **bold** and *italic* parts to a paragraph."""
    for part in filter(None, EMPHASIS.split(text)):
        stars = len(part) - len(part.lstrip("*"))
        run = paragraph.add_run(part.strip("*") if stars else part)
        run.bold, run.italic = stars == 2 or None, stars == 1 or None


def build_xlsx(source: Path, folder: Path) -> Path:
    """Build a workbook from a folder of CSV files named ``1_Sheet.csv``, in order, with numeric cells for numbers."""
    workbook = Workbook()
    workbook.remove(workbook.worksheets[0])
    for path in sorted(source.glob("*.csv")):
        sheet = workbook.create_sheet(path.stem.partition("_")[2])
        for row in read_rows(path):
            sheet.append(row)
        style_sheet(sheet)
    workbook.properties.title = source.name.replace("_", " ").capitalize()
    workbook.properties.creator = "Candor sample documents"
    workbook.properties.created = WRITTEN.replace(tzinfo=None)
    target = folder / f"{source.name}.xlsx"
    workbook.save(target)
    return fix_zip(target)


def read_rows(path: Path) -> Iterator[list[str | float | int | None]]:
    """Yield the rows of a CSV file, with numbers as numbers and empty cells as None."""
    with path.open(encoding="utf-8", newline="") as lines:
        for row in csv.reader(lines):
            yield [as_value(cell) for cell in row]


def as_value(cell: str) -> str | float | int | None:
    """Return the value of a cell in a spreadsheet."""
    if not cell:
        return None
    if re.fullmatch(r"-?\d+(\.\d+)?", cell):
        return float(cell) if "." in cell else int(cell)
    return cell


def style_sheet(sheet: Worksheet) -> None:
    """Make the header bold, freeze it, and set column widths."""
    sheet.freeze_panes = "B2"
    for cell in sheet[1]:
        cell.font = Font(bold=True)
        cell.alignment = Alignment(wrap_text=True, vertical="top")
    for column in sheet.columns:
        widest = max(len(str(cell.value or "")) for cell in column[1:])
        sheet.column_dimensions[column[0].column_letter].width = max(14, widest + 2)


def fix_zip(path: Path) -> Path:
    """Set all time stamps of an Office file to a fixed time, including the one that openpyxl writes."""
    with zipfile.ZipFile(path) as archive:
        entries = [(name, archive.read(name)) for name in archive.namelist()]
    stamp = WRITTEN.strftime("%Y-%m-%dT%H:%M:%SZ").encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            fixed = MODIFIED.sub(rb"\g<1>" + stamp, content) if name == "docProps/core.xml" else content
            archive.writestr(zipfile.ZipInfo(name, ZIP_TIME), fixed, zipfile.ZIP_DEFLATED)
    return path


if __name__ == "__main__":
    for built in build(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCUMENTS):
        print(built)
