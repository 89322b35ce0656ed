"""Writes a text as a PDF. ``write_pdf.typ`` is its layout."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from base.typesetting import FontError, missing_letters, typeset
from multi_agent.errors import ToolError
from multi_agent.tool import ToolCard, ToolKit, ToolResult

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
    """Uses the fonts of ``tools.fonts``, the first one by default, or DejaVu Sans and the fonts of this computer."""

    card: ClassVar[ToolCard] = ToolCard(
        name="write_pdf",
        description="Writes a text as a PDF among the files of this run, for the person to take.",
        inputs=PdfToWrite,
    )

    def __init__(self, kit: ToolKit) -> None:
        self._kit = kit

    async def __call__(self, given: PdfToWrite) -> ToolResult:
        content, pages = await asyncio.to_thread(write, given, self._kit.settings.fonts)
        self._kit.sandbox.write(given.name, content)
        text = f"Written: {given.name!r}, {pages} pages, {len(content)} bytes."
        return ToolResult(text=text, file=given.name)


def write(given: PdfToWrite, fonts: Mapping[str, Path]) -> tuple[bytes, int]:
    """Return the PDF and its number of pages. Raises ToolError if the font is unknown or lacks letters of the text."""
    from pypdfium2 import PdfDocument

    name = given.font or next(iter(fonts), "")
    if name and name not in fonts:
        raise ToolError(f"There is no font {name!r}; there are {', '.join(fonts) or 'none'} (`tools.fonts`).")
    paragraphs = given.text.replace("\r\n", "\n").split("\n\n")
    try:
        _require_letters(given.title + given.text, name, fonts.get(name))
        data = {"title": given.title.strip(), "paragraphs": paragraphs}
        content = typeset(Path(__file__).with_suffix(".typ"), data, fonts.get(name))
    except FontError as error:
        raise ToolError(f"The font {name!r} cannot be used ({error}); check `tools.fonts`.") from error
    return content, len(PdfDocument(content))


def _require_letters(text: str, name: str, font: Path | None) -> None:
    if missing := missing_letters(text, font):
        shown, who = " ".join(missing[:_SHOWN]), f"The font {name!r} has no" if name else "No font has"
        raise ToolError(f"{who} {shown}; take another font, or set one with `tools.fonts`.")
