"""Writes a text as a PDF in a configured font."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolKit, ToolResult

if TYPE_CHECKING:
    from fpdf import FPDF

_BUILT_IN = "Helvetica"
_SIZE, _LINE = 11, 6.0
_HEADINGS = {"# ": 18, "## ": 15, "### ": 13}
_SHOWN = 10


class PdfToWrite(FrozenModel):
    """The file, its text and its font."""

    name: str = Field(min_length=1, max_length=200, pattern=r"\.pdf$", description="such as 'report.pdf'")
    title: str = Field(default="", max_length=300, description="stands above the text and in the file's properties")
    text: str = Field(
        min_length=1, description="paragraphs with an empty line between them; '# ', '## ' and '### ' begin headings"
    )
    font: str = Field(default="", description="one of the fonts that are set, by its name; empty for the usual one")


class WritePdf:
    """Uses the TrueType fonts of ``tools.fonts``, the first one by default, or Helvetica if there are none."""

    card: ClassVar[ToolCard] = ToolCard(
        name="write_pdf",
        description="Writes a text as a PDF among the files of this run, for the person to take.",
        inputs=PdfToWrite,
    )

    def __init__(self, kit: ToolKit) -> None:
        self._kit = kit

    async def __call__(self, given: PdfToWrite) -> ToolResult:
        content, pages = await asyncio.to_thread(typeset, given, self._kit.settings.fonts)
        self._kit.sandbox.write(given.name, content)
        text = f"Written: {given.name!r}, {pages} pages, {len(content)} bytes."
        return ToolResult(text=text, file=given.name)


def typeset(given: PdfToWrite, fonts: Mapping[str, Path]) -> tuple[bytes, int]:
    """Return the PDF and its number of pages. Raises ToolError if the font is unknown or lacks letters of the text."""
    from fpdf import FPDF

    pdf = FPDF()
    pdf.add_page()
    font = _use_font(pdf, given.font, fonts)
    _require_letters(pdf, font, given.title + given.text)
    if given.title:
        pdf.set_title(given.title)
        _write(pdf, font, 22, given.title)
    for paragraph in given.text.replace("\r\n", "\n").split("\n\n"):
        mark = next((each for each in _HEADINGS if paragraph.startswith(each)), "")
        _write(pdf, font, _HEADINGS.get(mark, _SIZE), paragraph.removeprefix(mark))
    return bytes(pdf.output()), pdf.pages_count


def _use_font(pdf: FPDF, wanted: str, fonts: Mapping[str, Path]) -> str:
    name = wanted or next(iter(fonts), _BUILT_IN)
    from fontTools.ttLib import TTLibError

    if name == _BUILT_IN:
        return name
    if name not in fonts:
        raise ToolError(f"There is no font {name!r}; there are {', '.join([*fonts, _BUILT_IN])} (`tools.fonts`).")
    try:
        pdf.add_font(name, fname=fonts[name])
    except (OSError, TTLibError) as error:
        raise ToolError(f"The font {name!r} cannot be used ({error}); check `tools.fonts`.") from error
    return name


def _require_letters(pdf: FPDF, font: str, text: str) -> None:
    pdf.set_font(font, size=_SIZE)
    missing = sorted({letter for letter in text if letter not in "\r\n\t" and not _has(pdf.current_font, letter)})
    if missing:
        shown = " ".join(missing[:_SHOWN])
        raise ToolError(f"The font {font!r} has no {shown}; take another font, or set one with `tools.fonts`.")


def _has(font: object, letter: str) -> bool:
    """Return whether the font has the letter. The built-in fonts of PDF have the letters of Latin-1."""
    from fpdf.fonts import TTFFont

    return ord(letter) in font.cmap if isinstance(font, TTFFont) else ord(letter) < 256


def _write(pdf: FPDF, font: str, size: int, text: str) -> None:
    pdf.set_font(font, size=size)
    pdf.multi_cell(0, _LINE * size / _SIZE, text.strip(), new_x="LMARGIN", new_y="NEXT", align="L")
    pdf.ln(_LINE / 2)
