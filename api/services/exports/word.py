"""Renders an answer as a Word document with numbered evidence at the end."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from typing import TYPE_CHECKING

from api.services.exports.export import NOT_SHOWN, Calculation, Report, Statement
from multi_agent.storage.trace import RunSummary

if TYPE_CHECKING:
    from docx.document import Document
    from docx.text.paragraph import Paragraph

_BULLETS = "List Bullet"
_LISTS = {"list": _BULLETS, "numbered_list": "List Number"}


def render(run: RunSummary, report: Report) -> bytes:
    import docx

    document = docx.Document()
    about = document.core_properties
    about.title, about.author, about.comments = report.question[:255], "Candor", f"Run {run.run_id}"
    about.created = about.modified = run.started_at.replace(tzinfo=None)
    _fill(document, report)
    written = BytesIO()
    document.save(written)
    return written.getvalue()


def _fill(document: Document, report: Report) -> None:
    document.add_heading(report.question, level=1)
    document.add_paragraph().add_run(report.status).bold = True
    whole = document.add_paragraph() if report.layout == "prose" and report.statements else None
    for statement in report.statements:
        _statement(whole or document.add_paragraph(style=_LISTS.get(report.layout)), statement)
    for heading in report.contents:
        document.add_paragraph(heading, style=_LISTS["numbered_list"])
    for part in report.parts:
        document.add_heading(part.heading, level=2)
        prose = None if part.listed or not part.statements else document.add_paragraph()
        for statement in part.statements:
            _statement(prose or document.add_paragraph(style=_BULLETS), statement)
        _lines(document, part.lines)
    if report.sources:
        document.add_heading(report.evidence_heading, level=2)
    for source in report.sources:
        _numbered(document, source.mark, source.where)
        quoted = document.add_paragraph(source.shown, style="Quote")
        quoted.paragraph_format.keep_with_next = source.mark in report.pictures
        if picture := report.pictures.get(source.mark):
            page = document.sections[0]
            width = (page.page_width or 0) - (page.left_margin or 0) - (page.right_margin or 0)
            document.add_picture(BytesIO(picture), width=width)
        elif source.mark in report.pictures:
            document.add_paragraph(NOT_SHOWN)
    if report.calculations:
        document.add_heading("Computations", level=2)
    for calculation in report.calculations:
        _calculation(document, calculation)
    document.add_heading("About this answer", level=2)
    _table(document, ("", ""), report.facts)


def _statement(paragraph: Paragraph, statement: Statement) -> None:
    paragraph.add_run(statement.text)
    if statement.marks:
        paragraph.add_run("".join(f"[{mark}]" for mark in statement.marks)).font.superscript = True
    if statement.remark:
        paragraph.add_run(f" ({statement.remark})").bold = True
    paragraph.add_run(" ")


def _calculation(document: Document, calculation: Calculation) -> None:
    _numbered(document, calculation.mark, calculation.purpose)
    document.add_paragraph(calculation.sql, style="No Spacing")
    _table(document, calculation.columns, calculation.rows)
    _lines(document, calculation.notes)


def _numbered(document: Document, mark: str, text: str) -> None:
    paragraph = document.add_paragraph()
    paragraph.paragraph_format.keep_with_next = True
    paragraph.add_run(f"[{mark}] ").bold = True
    paragraph.add_run(text)


def _lines(document: Document, lines: Sequence[str]) -> None:
    for line in lines:
        document.add_paragraph(line, style=_BULLETS if len(lines) > 1 else None)


def _table(document: Document, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Add a table. Columns may be unnamed."""
    shown = [row for row in (columns, *rows) if any(row)]
    table = document.add_table(rows=0, cols=len(columns), style="Light List")
    for row in shown:
        for cell, text in zip(table.add_row().cells, row, strict=True):
            cell.text = text
