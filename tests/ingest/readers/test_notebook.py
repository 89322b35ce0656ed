"""Notebooks are read as they are shown: text, code, and the outputs in their richest form."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from ingest.document import ParsedDocument
from ingest.parser import Parser, load_parser
from ingest.readers.markup.html import write_page
from ingest.readers.notebook import _write_richest
from ingest.readers.shared.document_builder import DocumentBuilder

CASES = Path(__file__).parents[1] / "cases" / "48-ipynb-outputs"


@pytest.fixture(scope="module")
def parser() -> Parser:
    return load_parser("default")


def read(parser: Parser, path: Path, *cells: dict[str, Any]) -> ParsedDocument:
    path.write_text(json.dumps({"nbformat": 4, "metadata": {"title": "Yields"}, "cells": cells}))
    return parser.parse(path)


def code(*outputs: dict[str, Any]) -> dict[str, Any]:
    return {"cell_type": "code", "source": ["x = 1\n", "x"], "outputs": outputs}


def shown(**forms: Any) -> dict[str, Any]:
    return {"output_type": "display_data", "data": {name.replace("__", "/"): form for name, form in forms.items()}}


def test_results_are_read_in_their_richest_form(parser: Parser) -> None:
    assert parser.parse(CASES / "n1_outputs.ipynb").text == (
        "show()\n\n| run | yield |\n| --- | --- |\n| 7 | 0.83 |\n\nmd()\n\nResult: 12 of 15 accepted\n\nLatex()\n\n"
        "\\alpha = 0.05\n\n1/0\n\nZeroDivisionError: division by zero\n\nj\n\nmean: 0.79"
    )


def test_many_outputs_and_pages_take_linear_time() -> None:
    into = DocumentBuilder()
    into.prose("word " * 1_000_000)
    started = time.process_time()
    for _ in range(100):
        write_page("<p>x</p>", into)
        _write_richest({"text/plain": "5"}, into)
    assert time.process_time() - started < 1.5


def test_markdown_is_markup_and_the_title_is_a_property(parser: Parser, tmp_path: Path) -> None:
    cell = {"cell_type": "markdown", "source": "# Plan\n\nUse **3 bar**.\n\n| a |\n|---|\n| 1 |",
            "attachments": {"a.png": {"image/png": "iVBORw0KGgo" * 100}}}  # fmt: skip
    document = read(parser, tmp_path / "a.ipynb", cell, {"cell_type": "raw", "source": "Raw."})
    assert document.text == "Plan\n\nUse 3 bar.\n\n| a |\n| --- |\n| 1 |\n\nRaw."
    assert document.title == "Yields"


@pytest.mark.parametrize(
    "output",
    [
        shown(text__plain="<Figure size 640x480 with 1 Axes>", image__png="iVBORw0KGgo"),
        shown(text__plain="[<matplotlib.lines.Line2D at 0x7f01>]"),
        shown(text__plain="<AxesSubplot: xlabel='run'>"),
        shown(text__plain="<IPython.core.display.SVG object>"),
        shown(text__html="<div id='p'></div><script>draw(1)</script>"),
    ],
)
def test_pictures_and_names_of_objects_are_left_out(parser: Parser, tmp_path: Path, output: dict[str, Any]) -> None:
    assert read(parser, tmp_path / "a.ipynb", code(output)).text == "x = 1\nx"


@pytest.mark.parametrize(
    ("output", "text"),
    [
        ({"output_type": "stream", "text": ["\x1b[31mred\x1b[0m 3 bar\n", "10%\r20%\r100% done\r\n"]},
         "red 3 bar\n100% done"),
        ({"output_type": "error", "ename": "KeyError", "evalue": "'x'", "traceback": ["\x1b[0;31mLine 2\x1b[0m"]},
         "Line 2\nKeyError: 'x'"),
        (shown(text__html="<table><tr><th></th><th>a</th></tr><tr><th>0</th><td>1.10</td></tr></table>",
               text__plain="   a\n0  1.1"), "|  | a |\n| --- | --- |\n| 0 | 1.10 |"),
        (shown(text__html="<script>draw(1)</script>", text__plain="Chart of 3 runs"), "Chart of 3 runs"),
        (shown(text__plain="{'a': 1}"), "{'a': 1}"),
        (shown(application__json=[{"a": 1.5}, {"a": 2}], text__plain="<IPython.core.display.JSON object>"),
         "| a |\n| --- |\n| 1.5 |\n| 2 |"),
    ],
)  # fmt: skip
def test_outputs_are_text(parser: Parser, tmp_path: Path, output: dict[str, Any], text: str) -> None:
    assert read(parser, tmp_path / "a.ipynb", code(output)).text == f"x = 1\nx\n\n{text}"


def test_notebooks_before_version_4_are_read(parser: Parser, tmp_path: Path) -> None:
    outputs = [
        {"output_type": "pyout", "text": ["42"], "html": ["<table><tr><th>a</th><td>42</td></tr></table>"]},
        {"output_type": "stream", "text": "done"},
        {"output_type": "pyerr", "ename": "E", "evalue": "bad", "traceback": []},
    ]
    cells = [
        {"cell_type": "heading", "level": 2, "source": ["Old"]},
        {"cell_type": "heading", "level": "?", "source": "Older"},
        {"cell_type": "code", "input": "x", "outputs": outputs},
    ]
    (tmp_path / "a.ipynb").write_text(json.dumps({"nbformat": 3, "worksheets": [{"cells": cells}]}))
    text = parser.parse(tmp_path / "a.ipynb").text
    assert text == "Old\n\nOlder\n\nx\n\n| a | 42 |\n| --- | --- |\n\ndone\n\nE: bad"


def test_json_without_cells_is_read_as_data(parser: Parser, tmp_path: Path) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(json.dumps({"nbformat": 4, "town": "Halden", "cells": []}))
    assert "Halden" in parser.parse(path).text


def test_a_broken_notebook_is_read_as_text(parser: Parser, tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text('{"cells": [{"cell_type": "code", "source": ["x = 1"')
    document = parser.parse(tmp_path / "a.ipynb")
    assert "x = 1" in document.text
    assert "It was read as text." in document.warnings[0]


@pytest.mark.parametrize(
    ("forms", "text"),
    [
        (
            {"application/vnd.plotly.v1+json": {"layout": {"title": "Sales"}}, "text/html": "<script>x</script>"},
            "Sales",
        ),
        (
            {"application/vnd.vegalite.v5+json": {"title": "Rain in mm"}, "text/html": "<p>Loading object</p>"},
            "Rain in mm",
        ),
        ({"application/vnd.vegalite.v5+json": {"title": "Rain in mm"}, "text/plain": "alt.Chart(...)"}, "Rain in mm"),
        ({"image/svg+xml": ["<svg><text>Curve</text></svg>"], "text/plain": "<SVG object>"}, "Curve"),
        ({"application/vnd.jupyter.widget-view+json": {"model_id": "ab"}, "text/plain": "Slider(7)"}, "Slider(7)"),
    ],
)
def test_charts_and_drawings_keep_their_words(parser: Parser, tmp_path: Path, forms: Any, text: str) -> None:
    found = read(parser, tmp_path / "a.ipynb", code(shown(**forms))).text
    assert text in found
    assert [word for word in ("alt.Chart", "object", "model_id") if word in found] == []
