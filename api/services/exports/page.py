"""Renders an answer as one self-contained HTML page for screen and print, without scripts or external resources.

The page is built as a tree of elements, so text of documents and models is never interpreted as HTML.
"""

from __future__ import annotations

from collections.abc import Iterable
from xml.etree import ElementTree as Tree

from api.services.exports.export import Calculation, Report, Statement
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_TAGS = {"prose": "p", "list": "ul", "numbered_list": "ol"}
_STYLE = """
:root { color-scheme: light dark; }
body { font: 17px/1.55 Georgia, 'Times New Roman', serif; max-width: 44rem; margin: 2.5rem auto; padding: 0 1.25rem; }
h1 { font-size: 1.6rem; line-height: 1.25; text-wrap: balance; }
h2 { font-size: 1.1rem; margin-top: 2.2rem; }
.status, .where, .facts, .notes, table { font: 0.85rem/1.5 system-ui, sans-serif; }
.status { font-weight: 600; }
.unsupported { text-decoration: underline wavy #b3541e; }
.warning { font: 600 0.8rem system-ui, sans-serif; color: #b3541e; }
blockquote { margin: 0.3rem 0 1.2rem; padding-left: 1rem; border-left: 3px solid #8886; }
li, blockquote, .source { break-inside: avoid; }
:target { background: #ffd54a44; }
table { border-collapse: collapse; margin: 0.8rem 0; }
th, td { text-align: left; padding: 0.25rem 0.8rem 0.25rem 0; border-bottom: 1px solid #8884; vertical-align: top; }
pre { white-space: pre-wrap; font-size: 0.8rem; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1rem; }
dd { margin: 0; overflow-wrap: anywhere; }
@media print { body { margin: 0; max-width: none; font-size: 11pt; } a { color: inherit; text-decoration: none; } }
"""


def render(run: RunSummary, answer: Answer) -> bytes:
    report = Report.of(run, answer)
    page = Tree.Element("html", lang="en")
    head, body = Tree.SubElement(page, "head"), Tree.SubElement(page, "body")
    _add(head, "meta", charset="utf-8")
    _add(head, "meta", **{"http-equiv": "Content-Security-Policy", "content": _POLICY})
    _add(head, "meta", name="viewport", content="width=device-width, initial-scale=1")
    _add(head, "title", report.question)
    _add(head, "style", _STYLE)
    _fill(body, report)
    return b"<!doctype html>\n" + Tree.tostring(page, encoding="unicode", method="html").encode() + b"\n"


def _fill(body: Tree.Element, report: Report) -> None:
    _add(body, "h1", report.question)
    _add(body, "p", report.status, **{"class": "status"})
    _add_statements(body, report)
    for part in report.parts:
        _add(body, "h2", part.heading)
        _lines(body, part.lines)
    if report.sources:
        _add(body, "h2", "Evidence")
    for source in report.sources:
        place = _add(body, "div", id=f"evidence-{source.mark}", **{"class": "source"})
        _add(place, "div", f"[{source.mark}] {source.where}", **{"class": "where"})
        _add(place, "blockquote", source.shown)
    if report.calculations:
        _add(body, "h2", "Computations")
    for calculation in report.calculations:
        _calculation(body, calculation)
    _add(body, "h2", "About this answer")
    facts = _add(body, "dl", **{"class": "facts"})
    for name, value in report.facts:
        _add(facts, "dt", name)
        _add(facts, "dd", value)


def _add_statements(body: Tree.Element, report: Report) -> None:
    """Add the statements as a paragraph or a list."""
    if not report.statements:
        return
    whole = _add(body, _TAGS[report.layout])
    for statement in report.statements:
        _statement(whole if report.layout == "prose" else _add(whole, "li"), statement)


def _statement(place: Tree.Element, statement: Statement) -> None:
    _add(place, "span", statement.text, **({"class": "unsupported"} if statement.remark else {}))
    for mark in statement.marks:
        _add(_add(place, "sup"), "a", f"[{mark}]", href=f"#evidence-{mark}")
    if statement.remark:
        _add(place, "span", f" ({statement.remark})", **{"class": "warning"})
    place[-1].tail = " "


def _calculation(body: Tree.Element, calculation: Calculation) -> None:
    place = _add(body, "div", id=f"evidence-{calculation.mark}", **{"class": "source"})
    _add(place, "div", f"[{calculation.mark}] {calculation.purpose}", **{"class": "where"})
    _add(place, "pre", calculation.sql)
    table = _add(place, "table")
    header = _add(_add(table, "thead"), "tr")
    for column in calculation.columns:
        _add(header, "th", column)
    rows = _add(table, "tbody")
    for cells in calculation.rows:
        row = _add(rows, "tr")
        for cell in cells:
            _add(row, "td", cell)
    if calculation.notes:
        _lines(_add(place, "div", **{"class": "notes"}), calculation.notes)


def _lines(place: Tree.Element, lines: Iterable[str]) -> None:
    several = list(lines)
    if len(several) == 1:
        _add(place, "p", several[0])
        return
    items = _add(place, "ul")
    for line in several:
        _add(items, "li", line)


def _add(place: Tree.Element, tag: str, text: str = "", **attributes: str) -> Tree.Element:
    element = Tree.SubElement(place, tag, attributes)
    element.text = text
    return element
