"""Renders an answer as Markdown. Text of documents and models is escaped."""

import re
from collections.abc import Iterator, Sequence

from api.services.exports.export import Calculation, Report, Statement
from multi_agent.storage.trace import RunSummary
from multi_agent.values.sources import readable

_MARKUP = re.compile(r"[\\`*_\[\]<>&|~#]")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_AT_THE_START = re.compile(r"^(\d+(?=[.)])|(?=[-+=]))")


def render(_run: RunSummary, report: Report) -> bytes:
    """Return the report with citations such as [1] and the evidence under these numbers."""
    return ("\n\n".join(_blocks(report)) + "\n").encode()


def _blocks(report: Report) -> Iterator[str]:
    yield f"# {_text(report.question)}"
    yield f"**{report.status}**"
    if report.contents:
        yield "\n".join(f"{number}. {_text(each)}" for number, each in enumerate(report.contents, 1))
    statements = [_statement(each) for each in report.statements]
    if statements:
        bullets = (f"{report.bullet(number)} {_start(text)}" for number, text in enumerate(statements, 1))
        yield _start(" ".join(statements)) if report.layout == "prose" else "\n".join(bullets)
    for part in report.parts:
        yield f"## {_text(part.heading)}"
        if stated := [_statement(each) for each in part.statements]:
            yield _items(stated) if part.listed else _start(" ".join(stated))
        lines = [_text(line) for line in part.lines]
        yield _items(lines) if len(lines) > 1 else _start("".join(lines))
    if report.sources:
        yield f"## {report.evidence_heading}"
    for source in report.sources:
        yield f"**[{source.mark}]** {_text(source.where)}"
        yield f"> {_text(source.shown)}"
    if report.calculations:
        yield "## Computations"
    for calculation in report.calculations:
        yield from _calculation(calculation)
    yield "## About this answer"
    yield _items([f"{name}: {_text(value)}" for name, value in report.facts])


def _statement(statement: Statement) -> str:
    marks = "".join(f"[{mark}]" for mark in statement.marks)
    return " ".join(
        filter(None, (_text(statement.text), marks, f"**({statement.remark})**" if statement.remark else ""))
    )


def _calculation(calculation: Calculation) -> Iterator[str]:
    yield f"**[{calculation.mark}]** {_text(calculation.purpose)}"
    yield f"    {calculation.sql}"
    rows = [calculation.columns, ["---"] * len(calculation.columns), *calculation.rows]
    head, rule, *body = (f"| {' | '.join(cell if row is rows[1] else _text(cell) for cell in row)} |" for row in rows)
    yield "\n".join([head, rule, *body])
    if calculation.notes:
        yield _items([_text(note) for note in calculation.notes])


def _items(lines: Sequence[str]) -> str:
    return "\n".join(f"- {_start(line)}" for line in lines)


def escaped(text: str) -> str:
    """Escape a text so that Markdown shows it literally, without links, pictures, HTML, headings or lists."""
    return "\n".join(_start(_text(line.strip())) for line in readable(text).split("\n"))


def unescaped(text: str) -> str:
    """Reverse ``escaped``."""
    return _ESCAPED.sub(r"\1", text)


def _text(text: str) -> str:
    return _MARKUP.sub(r"\\\g<0>", text)


def _start(line: str) -> str:
    """Escape the beginning of the line so that the line is not a list item or heading."""
    return _AT_THE_START.sub(r"\1\\", line)
