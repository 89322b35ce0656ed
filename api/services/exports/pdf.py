"""Renders an answer as a PDF with links from the marks to the evidence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC

from fpdf import FPDF
from fpdf.fonts import FontFace

from api.services.exports.export import Calculation, Report, Source, Statement
from api.services.exports.fonts import MISSING, bundled, find_fonts
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer

_FAMILY = "DejaVu"
_SIZE, _SMALL, _TITLE, _HEADING = 10.5, 8.5, 17, 12.5  # points
_LEADING = 0.53  # millimetres of line height per point
_MARGIN, _INDENT, _GAP = 20.0, 7.0, 2.5  # millimetres
_GREY, _LINE, _LINK = (95, 95, 95), (190, 190, 190), (20, 80, 160)


def render(run: RunSummary, answer: Answer) -> bytes:
    """Return the PDF. Raises UsageError if its letters cannot be shown."""
    report = Report.of(run, answer)
    fonts, unknown = find_fonts(report.model_dump_json())
    page = _Page(unknown)
    for style in ("", "-Bold"):
        page.add_font(_FAMILY, "B" if style else "", bundled(style))
    for number, path in enumerate(fonts):
        page.add_font(f"other{number}", "", path)
    page.set_fallback_fonts([f"other{number}" for number in range(len(fonts))], exact_match=False)
    page.set_title(report.question)
    page.set_creator("Candor")
    page.set_creation_date(run.started_at.astimezone(UTC))
    _fill(page, report)
    return bytes(page.output())


class _Page(FPDF):
    """A document of A4 pages with page numbers. ``unknown`` contains the symbols that no font has."""

    def __init__(self, unknown: str) -> None:
        super().__init__()
        self._replaced = str.maketrans(dict.fromkeys(unknown, MISSING))
        self.unknown = unknown
        self.set_margins(_MARGIN, _MARGIN)
        self.set_auto_page_break(True, _MARGIN)

    def footer(self) -> None:
        self.set_y(-14)
        self.set_font(_FAMILY, size=_SMALL)
        self.set_text_color(_GREY)
        self.cell(0, 5, f"{self.page_no()} / {{nb}}", align="C")
        self.set_text_color(0)

    def words(self, text: str, size: float = _SIZE, style: str = "", link: int | None = None) -> None:
        """Add text to the current line. The text wraps to the next line."""
        self.set_font(_FAMILY, style, size)
        self.set_text_color(_LINK if link else 0)
        self.write(size * _LEADING, text.translate(self._replaced), link or "")
        self.set_text_color(0)

    def paragraph(self, text: str, size: float = _SIZE, style: str = "", indent: float = 0, bullet: str = "") -> None:
        """Add a paragraph, with an optional bullet to its left."""
        with self.indented(indent, bullet):
            self.words(text, size, style)

    @contextmanager
    def indented(self, indent: float, bullet: str = "") -> Iterator[None]:
        """Indent the lines inside the block. Ends the last line."""
        if bullet:
            self.words(bullet)
        self.set_left_margin(_MARGIN + indent)
        self.set_x(_MARGIN + indent)
        yield
        height = self.font_size_pt * _LEADING
        self.set_left_margin(_MARGIN)
        self.ln(height + (_GAP if height > _SMALL * _LEADING else 0))

    def table_of(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table under its headings."""
        self.set_font(_FAMILY, size=_SMALL)
        self.set_draw_color(_LINE)
        with self.table(
            headings_style=FontFace(emphasis="BOLD"), borders_layout="HORIZONTAL_LINES", text_align="LEFT",
            line_height=_SMALL * _LEADING + 0.6,
        ) as table:  # fmt: skip
            for row in (columns, *rows):
                table.row([cell.translate(self._replaced) for cell in row])
        self.ln(_GAP)


def _fill(page: _Page, report: Report) -> None:
    page.add_page()
    page.paragraph(report.question, _TITLE, "B")
    page.paragraph(report.status, style="B")
    marks = (*(source.mark for source in report.sources), *(each.mark for each in report.calculations))
    links = {mark: page.add_link() for mark in marks}
    _statements(page, report, links)
    for part in report.parts:
        _heading(page, part.heading)
        for line in part.lines:
            several = len(part.lines) > 1
            page.paragraph(line, indent=_INDENT if several else 0, bullet="•" if several else "")
    if report.sources:
        _heading(page, "Evidence")
    for source in report.sources:
        _source(page, source, links[source.mark])
    if report.calculations:
        _heading(page, "Computations")
    for calculation in report.calculations:
        _calculation(page, calculation, links[calculation.mark])
    _heading(page, "About this answer")
    for name, value in report.facts:
        page.paragraph(f"{name}: {value}", _SMALL)
    if page.unknown:
        page.paragraph(f"{MISSING} replaces symbols that no font on this computer has.", _SMALL)


def _statements(page: _Page, report: Report, links: dict[str, int]) -> None:
    bullets = [report.bullet(number) for number, _ in enumerate(report.statements, 1)]
    if report.layout == "prose":
        with page.indented(0):
            for statement in report.statements:
                _statement(page, statement, links)
        return
    for bullet, statement in zip(bullets, report.statements, strict=True):
        with page.indented(_INDENT, "•" if bullet == "-" else bullet):
            _statement(page, statement, links)


def _statement(page: _Page, statement: Statement, links: dict[str, int]) -> None:
    page.words(f"{statement.text} ")
    for mark in statement.marks:
        page.words(f"[{mark}]", _SMALL, link=links.get(mark))
    if statement.remark:
        page.words(f"({statement.remark})", _SMALL, "B")
    page.words(" ")


def _heading(page: _Page, text: str) -> None:
    if page.will_page_break(30):
        page.add_page()
    page.ln(_GAP)
    page.paragraph(text, _HEADING, "B")


def _source(page: _Page, source: Source, link: int) -> None:
    _anchor(page, link)
    page.paragraph(f"[{source.mark}] {source.where}", _SMALL, "B")
    page.paragraph(source.shown, indent=_INDENT)


def _calculation(page: _Page, calculation: Calculation, link: int) -> None:
    _anchor(page, link)
    page.paragraph(f"[{calculation.mark}] {calculation.purpose}", _SMALL, "B")
    page.paragraph(calculation.sql, _SMALL)
    page.table_of(calculation.columns, calculation.rows)
    for note in calculation.notes:
        page.paragraph(note, _SMALL, indent=_INDENT, bullet="•")


def _anchor(page: _Page, link: int) -> None:
    """Set the target of the link to the current position. Leaves room for the first lines below it."""
    if page.will_page_break(20):
        page.add_page()
    page.set_link(link, y=page.get_y(), page=page.page_no())
