"""XPS files: lines, headings, tables and pages from the positions of their glyphs."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from ingest.containers.entries import ContainerKind, container_kind
from ingest.errors import CorruptDocument
from ingest.parser import load_parser
from support.office import write_xps


def _glyphs(text: str, x: float, y: float, size: float = 16, more: str = "") -> str:
    return f'<Glyphs UnicodeString="{text}" OriginX="{x}" OriginY="{y}" FontRenderingEmSize="{size}" {more}/>'


def _rows(*rows: tuple[str, ...], top: float = 300) -> str:
    return "".join(
        _glyphs(cell, 100 + 200 * column, top + 24 * row)
        for row, cells in enumerate(rows)
        for column, cell in enumerate(cells)
    )


FIRST = (
    _glyphs("Pumps of the north", 100, 100, 32)
    + _glyphs("The pump runs at", 100, 150)
    + _glyphs("five kilowatts.", 236, 150)
    + _glyphs("{}{A} It is quiet.", 100, 172)
    + _rows(("Model", "Power", "Price"), ("A-1", "5 kW", "900"), ("A-2", "7 kW", "1200"))
)
SECOND = '<Canvas RenderTransform="2,0,0,2,0,0">' + _glyphs("Prices rise in May.", 50, 80, 8) + "</Canvas>"


@pytest.mark.parametrize(("name", "pieces"), [("a.xps", False), ("a.oxps", False), ("a.xps", True)])
def test_an_xps_file_has_pages_headings_and_tables(tmp_path: Path, name: str, pieces: bool) -> None:
    path = write_xps(tmp_path / name, [FIRST, SECOND], pieces=pieces)
    document = load_parser("default").parse(path)
    assert document.text == (
        "Pumps of the north\n\nThe pump runs at five kilowatts.\n{A} It is quiet.\n\n"
        "| Model | Power | Price |\n| --- | --- | --- |\n| A-1 | 5 kW | 900 |\n| A-2 | 7 kW | 1200 |\n\n"
        "Prices rise in May."
    )
    assert [block.kind.value for block in document.blocks] == ["heading", "prose", "table", "prose"]
    assert [(page.number, document.text[page.start : page.end].strip()[:6]) for page in document.pages] == [
        (1, "Pumps "),
        (2, "Prices"),
    ]


def test_an_xps_file_with_many_parts_is_not_an_archive(tmp_path: Path) -> None:
    path = write_xps(tmp_path / "a.xps", [SECOND] * 60)
    assert container_kind(path) is None
    with zipfile.ZipFile(tmp_path / "b.zip", "w") as archive:
        archive.writestr("a.txt", "x")
    assert container_kind(tmp_path / "b.zip") is ContainerKind.ZIP


@pytest.mark.parametrize("glyphs", [_glyphs("x", 1, 1, 0), '<Glyphs UnicodeString="x" OriginX="1.2.3" OriginY="."/>'])
def test_wrong_numbers_in_an_xps_file_lose_no_text(tmp_path: Path, glyphs: str) -> None:
    assert load_parser("default").parse(write_xps(tmp_path / "a.xps", [glyphs])).text == "x"


def test_a_damaged_xps_file_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(CorruptDocument, match="damaged"):
        load_parser("default").parse(write_xps(tmp_path / "a.xps", ["<Glyphs"]))
