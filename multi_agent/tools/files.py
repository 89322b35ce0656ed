"""The files of a run: lists, writes and downloads them into its sandbox, and reads them.

A file that the run wrote is no source: its text could be the model's own words.
"""

import asyncio
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from base.typesetting import FontError, missing_letters, typeset
from multi_agent.errors import ToolError
from multi_agent.tool import KitTool, ToolCard, ToolResult, excerpt
from multi_agent.toolbox.web import fetch
from multi_agent.tools.documents import read_on
from multi_agent.values.sources import tool_passage
from vectorstore.models import WebPage


class Nothing(FrozenModel):
    """It takes no arguments."""


class ListFiles(KitTool):
    """Returns the names and sizes of the files in the sandbox."""

    card: ClassVar[ToolCard] = ToolCard(
        name="list_files",
        description="Lists the files of this run: what was written or downloaded in it.",
        inputs=Nothing,
    )

    async def __call__(self, given: Nothing) -> ToolResult:
        lines = [f"{name}: {self._kit.sandbox.size(name)} bytes" for name in self._kit.sandbox.names()]
        return ToolResult(text="\n".join(lines) or "There are no files yet.", proves=False)  # the model named them


class FileToRead(FrozenModel):
    """Which file."""

    name: str = Field(min_length=1, max_length=200, description="as list_files names it")
    start: int = Field(default=0, ge=0, description="the character to begin with, to read on in a long file")


class ReadFile(KitTool):
    """Reads files in UTF-8."""

    card: ClassVar[ToolCard] = ToolCard(
        name="read_file", description="Reads a text file of this run, from a character on.", inputs=FileToRead
    )

    async def __call__(self, given: FileToRead) -> ToolResult:
        try:
            text = self._kit.sandbox.read(given.name).decode()
        except UnicodeDecodeError:
            raise ToolError(f"{given.name!r} is not text in UTF-8.") from None
        origin = self._kit.sandbox.origin(given.name)
        shown = excerpt(text, given.start, self._kit.settings.result_characters)
        if origin is None:
            return ToolResult(text=f"{given.name}, written in this run, so it is no source:\n{shown}", proves=False)
        asked = {**given.model_dump(mode="json"), "from": origin.url}
        passages = (tool_passage(self.card.name, asked, shown),) if shown.strip() else ()
        return ToolResult(text=shown, passages=passages, sources=(origin.url,))


class FileToWrite(FrozenModel):
    """The name of the file and its text."""

    name: str = Field(min_length=1, max_length=200, description="such as 'figures.csv' or 'notes/first.md'")
    text: str = Field(description="the whole text; it takes the place of a file of that name")


class WriteFile(KitTool):
    """Writes a file in UTF-8. Needs no approval, because files stay in the sandbox."""

    card: ClassVar[ToolCard] = ToolCard(
        name="write_file",
        description="Writes a text file among the files of this run, for the person to take.",
        inputs=FileToWrite,
    )

    async def __call__(self, given: FileToWrite) -> ToolResult:
        content = given.text.encode("utf-8", errors="replace")
        self._kit.sandbox.write(given.name, content)
        return ToolResult(text=f"Written: {given.name!r}, {len(content)} bytes.", file=given.name)


_SHOWN = 10


class PdfToWrite(FrozenModel):
    """The file, its text and its font."""

    name: str = Field(min_length=1, max_length=200, pattern=r"\.pdf$", description="such as 'report.pdf'")
    title: str = Field(default="", max_length=300, description="stands above the text and in the file's properties")
    text: str = Field(
        min_length=1, description="paragraphs with an empty line between them; '# ', '## ' and '### ' begin headings"
    )
    font: str = Field(default="", description="one of the fonts that are set, by its name; empty for the usual one")


class WritePdf(KitTool):
    """Uses the fonts of ``tools.fonts``, the first one by default, or DejaVu Sans and the fonts of this computer."""

    card: ClassVar[ToolCard] = ToolCard(
        name="write_pdf",
        description="Writes a text as a PDF among the files of this run, for the person to take.",
        inputs=PdfToWrite,
    )

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
        content = typeset(Path(__file__).with_name("write_pdf.typ"), data, fonts.get(name))
    except FontError as error:
        raise ToolError(f"The font {name!r} cannot be used ({error}); check `tools.fonts`.") from error
    return content, len(PdfDocument(content))


def _require_letters(text: str, name: str, font: Path | None) -> None:
    if missing := missing_letters(text, font):
        shown, who = " ".join(missing[:_SHOWN]), f"The font {name!r} has no" if name else "No font has"
        raise ToolError(f"{who} {shown}; take another font, or set one with `tools.fonts`.")


class Download(FrozenModel):
    """What is to be downloaded."""

    url: str = Field(min_length=1, max_length=2000, description="the file's address, with https:// or http://")
    name: str = Field(min_length=1, max_length=200, description="what to call it among the files of this run")


class DownloadFile(KitTool):
    """Stores the downloaded bytes. Does not run or unpack them."""

    card: ClassVar[ToolCard] = ToolCard(
        name="download_file",
        description="Downloads a file from the web, such as a PDF, and keeps it among the files of this run. Read it "
        "with read_download.",
        inputs=Download,
        fetches="url",
        source="web",
        dangerous=True,
    )

    async def __call__(self, given: Download) -> ToolResult:
        fetched = await fetch(given.url, self._kit.settings, self._kit.settings.download_bytes)
        origin = WebPage(url=fetched.url, read_at=datetime.now(UTC))
        self._kit.sandbox.write(given.name, fetched.content, origin)
        text = f"Kept as {given.name!r}: {len(fetched.content)} bytes of the type {fetched.media_type!r}."
        return ToolResult(text=text, sources=(fetched.url,), file=given.name)


class DownloadToRead(FrozenModel):
    """Which file."""

    name: str = Field(min_length=1, max_length=200, description="as download_file was told to call it")
    start: int = Field(default=1, ge=1, description="the passage to begin with, to read on in a long file")


class ReadDownload(KitTool):
    """Reads files of every format that can be ingested. Their passages have the URL of the download."""

    card: ClassVar[ToolCard] = ToolCard(
        name="read_download",
        description="Reads a file that download_file kept, such as a PDF, and gives its text as numbered passages, "
        "which can be quoted.",
        inputs=DownloadToRead,
        source="web",
    )

    async def __call__(self, given: DownloadToRead) -> ToolResult:
        kit, path = self._kit, self._kit.sandbox.path(given.name)
        origin = kit.sandbox.origin(given.name)
        if origin is None:
            raise ToolError(f"{given.name!r} was not downloaded but written in this run; read it with read_file.")
        chunks = await asyncio.to_thread(kit.files.passages, path, origin)
        shown, last = read_on(chunks, given.start, kit.settings, repr(given.name))
        rest = f" Read on with start={last + 1}." if last < len(chunks) else ""
        text = f"{origin.url}\nPassages {given.start} to {last} of {len(chunks)}.{rest}"
        return ToolResult(text=text, passages=shown, sources=(origin.url,))
