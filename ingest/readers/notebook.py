"""Reads Jupyter notebooks: text, code and outputs in order. Of each output, the richest form that has text is read.

Pictures and widgets of outputs are left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ingest.decoding import decode
from ingest.reader import Reader, ReadRequest
from ingest.readers.data.data import write_data
from ingest.readers.data.json_values import json_value
from ingest.readers.data.value_writer import write_values
from ingest.readers.data.values import Record, Value
from ingest.readers.markup.element_writer import ElementWriter
from ingest.readers.markup.html import write_page
from ingest.readers.markup.markdown import write_markdown
from ingest.readers.markup.tree import xml_tree
from ingest.readers.shared.document_builder import DocumentBuilder
from ingest.readers.text import write_text
from vectorstore.models import Scalar

_CONTROL = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\))")
_OBJECT = re.compile(r"\[?<[\w.]+(?: object)?(?: at 0x[0-9a-fA-F]+| size [^<>]*|:[^<>]*)?>(?:,[^<>]*<[^<>]*>)*\]?")
"""What Python prints for an object that has no text, such as a figure."""
_DATA = re.compile(r"application/(?:.*\+)?json(?<!widget-view\+json)(?<!widget-state\+json)")
_CHART = re.compile(r"application/vnd\.(?:plotly|vega)\S*json")
_OLD_TYPES = {"text": "text/plain", "html": "text/html", "latex": "text/latex", "json": "application/json"}
"""MIME types of outputs by their names in notebooks before version 4."""


def read_notebook(request: ReadRequest, into: DocumentBuilder) -> dict[str, Scalar]:
    """Add the cells to the builder; return the title, if the notebook states one."""
    text = decode(request.data, request.path, into.warn)
    try:
        notebook = json_value(text)
    except (ValueError, RecursionError):
        notebook = None
    cells = list(_cells(notebook)) if isinstance(notebook, Record) else []
    if not isinstance(notebook, Record) or not cells:
        write_data(text, "JSON", into)
        return {}
    for cell in cells:
        _write_cell(cell, into)
    metadata = notebook.get("metadata")
    title = metadata.get("title") if isinstance(metadata, Record) else ""
    return {"title": title} if isinstance(title, str) else {}


def _cells(notebook: Record) -> Iterator[Record]:
    """Yield the cells. Notebooks before version 4 have them in worksheets."""
    for holder in (notebook, *_records(notebook.get("worksheets"))):
        yield from _records(holder.get("cells"))


def _records(value: Value) -> list[Record]:
    return [each for each in value if isinstance(each, Record)] if isinstance(value, list) else []


def _text(value: Value) -> str:
    """Return a text that may be stored as a list of its lines."""
    return "".join(map(_text, value)) if isinstance(value, list) else value if isinstance(value, str) else ""


def _write_cell(cell: Record, into: DocumentBuilder) -> None:
    source = _text(cell.get("source")) or _text(cell.get("input"))
    match cell.get("cell_type"):
        case "markdown":
            write_markdown(source, into)
        case "heading":
            into.heading(source, level=next((n for n in range(1, 7) if cell.get("level") == str(n)), 1))
        case "code":
            into.code(source)
        case _:
            write_text(source, into)
    for output in _records(cell.get("outputs")):
        _write_output(output, into)


def _write_output(output: Record, into: DocumentBuilder) -> None:
    kind = output.get("output_type")
    if kind == "stream":
        into.code(_shown(_text(output.get("text"))))
    elif kind in ("error", "pyerr"):
        message = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        lines = output.get("traceback")
        trace = _shown("\n".join(map(_text, lines)) if isinstance(lines, list) else "")
        into.code(trace if message in trace else f"{trace}\n{message}")
    else:
        data = output.get("data")
        fields = data.fields if isinstance(data, Record) else [(_OLD_TYPES.get(key, ""), v) for key, v in output.fields]
        _write_richest(dict(fields), into)


def _write_richest(forms: dict[str, Value], into: DocumentBuilder) -> None:
    """Write the first form of an output that has text, in the order in which notebooks prefer them."""
    before = into.length
    write_values(
        [form for kind, form in forms.items() if _CHART.fullmatch(kind) and isinstance(form, Record)][:1], into
    )
    if into.length == before and "text/html" in forms:  # beside a chart, the program that draws it
        write_page(_text(forms["text/html"]), into)
    if into.length == before and "text/markdown" in forms:
        write_markdown(_text(forms["text/markdown"]), into)
    if into.length == before and "text/latex" in forms:
        into.prose(_text(forms["text/latex"]).strip().strip("$"))
    if into.length == before and "image/svg+xml" in forms:
        drawing = xml_tree(_text(forms["image/svg+xml"]).encode(), Path("output.svg"), into.warn)
        ElementWriter(into).write(drawing, depth=0)
    for kind, form in forms.items():  # values, or the data of a chart
        if into.length == before and _DATA.fullmatch(kind) and isinstance(form, Record | list):
            write_values([form], into)
    plain = _shown(_text(forms.get("text/plain")))
    if into.length == before and not _OBJECT.fullmatch(plain.strip()):
        into.code(plain)


def _shown(text: str) -> str:
    """Return text as a terminal shows it: without colours, and what a progress bar wrote last on a line."""
    return "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in _CONTROL.sub("", text).split("\n"))


READER = Reader(name="notebook", version=6, read=read_notebook, mime_types=("application/x-ipynb+json",))
