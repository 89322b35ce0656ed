"""Tools for the files of a run: write, list, read and create PDFs. No file name leads out of the sandbox."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pdfplumber
import pytest

from multi_agent.errors import ToolError
from multi_agent.sandbox import Sandbox
from vectorstore.models import WebPage

DEJAVU = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


async def test_files_are_written_listed_and_read(call: Any, sandbox: Sandbox) -> None:
    assert (await call("list_files", {})).text == "There are no files yet."
    await call("write_file", {"name": "notes/first.md", "text": "Größe"})
    assert (await call("list_files", {})).text == "notes/first.md: 7 bytes"
    read = await call("read_file", {"name": "notes/first.md"})
    assert read.text == "notes/first.md, written in this run, so it is no source:\nGröße"
    await call("write_file", {"name": "notes/first.md", "text": "x" * 1000})
    assert (await call("read_file", {"name": "notes/first.md"}, result_characters=600)).text.endswith("start=600.)")
    sandbox.write("raw", b"\xff\xfe\xfa")
    with pytest.raises(ToolError, match="is not text"):
        await call("read_file", {"name": "raw"})
    with pytest.raises(ToolError, match=r"There is no file 'b'; there are: notes/first\.md, raw\."):
        await call("read_file", {"name": "b"})


async def test_only_a_downloaded_file_is_evidence_and_names_its_address(call: Any, sandbox: Sandbox) -> None:
    origin = WebPage(url="https://example.org/a.txt", read_at=datetime(2026, 11, 22, tzinfo=UTC))
    sandbox.write("a.txt", b"The pump is blue.", origin)
    await call("write_file", {"name": "b.txt", "text": "The pump is red."})
    theirs, own = await call("read_file", {"name": "a.txt"}), await call("read_file", {"name": "b.txt"})
    [passage] = theirs.passages
    assert (passage.text, passage.origin.arguments["from"]) == ("The pump is blue.", "https://example.org/a.txt")
    assert (own.passages, own.proves) == ((), False)


async def test_a_tool_cannot_say_where_a_file_is_from(call: Any, sandbox: Sandbox) -> None:
    origin = WebPage(url="https://example.org/a.txt", read_at=datetime(2026, 11, 22, tzinfo=UTC))
    sandbox.write("a.txt", b"theirs", origin)
    sandbox.write("b.txt", b"other", origin)
    assert sandbox.names() == ["a.txt", "b.txt"]
    await call("write_file", {"name": "./a.txt", "text": "mine"})
    assert (sandbox.origin("a.txt"), sandbox.origin("b.txt")) == (None, origin)
    with pytest.raises(ToolError, match="was not downloaded but written in this run; read it with read_file"):
        await call("read_download", {"name": "a.txt"})
    for name in (".origins.json", "./.origins.json"):
        with pytest.raises(ToolError, match="cannot name a file"):
            await call("write_file", {"name": name, "text": "{}"})
        with pytest.raises(ToolError, match="cannot name a file"):
            await call("read_file", {"name": name})


@pytest.mark.parametrize(
    "name",
    [
        "../out",
        "a/../../out",
        "/etc/passwd",
        "..",
        ".",
        "a\\b",
        "a\0b",
        "a\nb",
        "x" * 300,
        "d/" * 9 + "e",
        "link/out",
        "link",
    ],
)
async def test_no_name_leads_out_of_the_sandbox(call: Any, sandbox: Sandbox, tmp_path: Path, name: str) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "out").write_text("secret")
    sandbox.write("inside", b"")
    (tmp_path / "sandbox" / "link").symlink_to(outside)
    for attempt in (lambda: sandbox.write(name, b"x"), lambda: sandbox.read(name)):
        with pytest.raises(ToolError):
            attempt()
    assert sandbox.names() == ["inside"]
    assert (outside / "out").read_text() == "secret"
    assert not (tmp_path / "out").exists()


def test_the_sandbox_has_a_size_limit(sandbox: Sandbox) -> None:
    sandbox.write("a", b"x" * 15_000)
    with pytest.raises(ToolError, match=r"'b' has 6000 bytes, and of the 20000 .* 15000 are used"):
        sandbox.write("b", b"x" * 6_000)
    sandbox.write("a", b"x" * 20_000)
    with pytest.raises(ToolError, match="A folder on the way"):
        sandbox.write("a/b", b"")


def words_of(pdf: bytes) -> str:
    with pdfplumber.open(io.BytesIO(pdf)) as opened:
        return "\n".join(page.extract_text() for page in opened.pages)


async def test_a_text_becomes_a_pdf(call: Any, sandbox: Sandbox) -> None:
    text = "# Limits\n\nThe Borea 12 works down to -25 °C.\n\nAll else does not."
    result = await call("write_pdf", {"name": "report.pdf", "title": "Pumps", "text": text})
    assert result.text.startswith("Written: 'report.pdf', 1 pages")
    assert words_of(sandbox.read("report.pdf")).splitlines() == [
        "Pumps", "Limits", "The Borea 12 works down to -25 °C.", "All else does not."
    ]  # fmt: skip


@pytest.mark.skipif(not DEJAVU.exists(), reason="needs the font DejaVu Sans")
async def test_other_scripts_need_a_font_with_their_letters(call: Any, sandbox: Sandbox) -> None:
    greek = {"name": "report.pdf", "text": "Θερμοκρασία −25 °C"}
    await call("write_pdf", greek)
    assert words_of(sandbox.read("report.pdf")) == greek["text"]
    with pytest.raises(ToolError, match="No font has \U00016f00"):  # Miao
        await call("write_pdf", {**greek, "text": "\U00016f00"})
    fonts = {"DejaVu": DEJAVU}
    with pytest.raises(ToolError, match="The font 'DejaVu' has no \U00016f00"):
        await call("write_pdf", {**greek, "text": "\U00016f00"}, fonts=fonts)
    await call("write_pdf", greek, fonts=fonts)
    assert words_of(sandbox.read("report.pdf")) == greek["text"]
    with pytest.raises(ToolError, match="There is no font 'Gothic'; there are DejaVu "):
        await call("write_pdf", {**greek, "font": "Gothic"}, fonts=fonts)
    with pytest.raises(ToolError, match="cannot be used"):
        await call("write_pdf", greek, fonts={"Gone": Path("/nowhere.ttf")})
