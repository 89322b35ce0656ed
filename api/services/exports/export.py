"""Exports an answer to a file.

``Report`` holds the texts that all formats except JSON show. Each format is a module of this package. A JSON export
contains the stored answer and its run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from importlib import import_module
from pathlib import PurePath

from pydantic import Field

from api.services.research.execution_summary import execution_facts
from multi_agent.answer import Answer, Computed, Quote, Status
from multi_agent.prompts.show_passages import show_pages
from multi_agent.sources import describe_origin, readable
from multi_agent.storage.trace import RunSummary
from vectorstore.models import FrozenModel, GivenPassage
from vectorstore.text.counts import count

UNSUPPORTED = "not supported by the evidence"

_CONTROL = re.compile(r"[\ufffe\uffff]")  # not allowed in XML


class Format(StrEnum):
    """A file format."""

    MARKDOWN = "md"
    HTML = "html"
    JSON = "json"
    DOCX = "docx"

    @property
    def media_type(self) -> str:
        return _FORMATS[self][0]


class Export(FrozenModel):
    """An exported file."""

    name: str
    media_type: str
    content: bytes


class Statement(FrozenModel):
    """A claim with the marks of its evidence: '1' is a quote, 'C1' a computation."""

    text: str
    marks: tuple[str, ...]
    supported: bool


class Source(FrozenModel):
    """A quote and its location."""

    mark: str
    where: str = Field(description="document and page, web page, or tool")
    quote: str
    verbatim: bool = Field(default=True, description="whether the document has these words, not a picture of its page")

    @property
    def shown(self) -> str:
        """The quote in quotation marks, or a picture reading without quotation marks."""
        return f"“{self.quote}”" if self.verbatim else self.quote


class Calculation(FrozenModel):
    """A computation with its result."""

    mark: str
    purpose: str
    sql: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = Field(description="its sources and its limits")


class Part(FrozenModel):
    """A further section of the answer, one line per item."""

    heading: str
    lines: tuple[str, ...]


class Report(FrozenModel):
    """The texts of an exported answer, in reading order."""

    run_id: str
    question: str
    status: str
    listed: bool = Field(description="whether the statements are list items instead of a paragraph")
    statements: tuple[Statement, ...]
    parts: tuple[Part, ...]
    sources: tuple[Source, ...]
    calculations: tuple[Calculation, ...]
    facts: tuple[tuple[str, str], ...] = Field(description="about the run: names and values")

    @classmethod
    def of(cls, run: RunSummary, answer: Answer) -> Report:
        """Build the report of an answer."""
        names = _names(answer)
        return cls(
            run_id=run.run_id,
            question=_plain(answer.completed_question or answer.question),
            status=_status(answer),
            listed=answer.answer.startswith(("- ", "1. ")),
            statements=tuple(
                Statement(
                    text=_plain(claim.text),
                    marks=(*map(str, claim.evidence), *(f"C{number}" for number in claim.computations)),
                    supported=claim.supported,
                )
                for claim in answer.claims
            ),
            parts=tuple(part for part in _parts(answer) if part.lines),
            sources=tuple(_source(quote, names) for quote in answer.cited),
            calculations=tuple(_calculation(computed, names) for computed in answer.computations),
            facts=_facts(run, answer),
        )


def export(run: RunSummary, answer: Answer, wanted: Format) -> Export:
    """Export the answer to a file. The file name contains only the run id, so it is valid on every system."""
    media_type, module = _FORMATS[wanted]
    render: Callable[[RunSummary, Answer], bytes] = import_module(f"api.services.exports.{module}").render
    name = f"candor-{re.sub(r'[^A-Za-z0-9_-]', '_', run.run_id)}.{wanted.value}"
    return Export(name=name, media_type=media_type, content=render(run, answer))


_FORMATS = {
    Format.MARKDOWN: ("text/markdown; charset=utf-8", "markdown"),
    Format.HTML: ("text/html; charset=utf-8", "page"),
    Format.JSON: ("application/json", "data"),
    Format.DOCX: ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "word"),
}


def _status(answer: Answer) -> str:
    confidence = f" · confidence {answer.confidence:.2f}" if answer.answer else ""
    return f"{answer.status.value.capitalize()}{confidence}"


def gaps_heading(answer: Answer) -> str:
    """Return the heading of the gaps. A sufficient answer can have gaps, too."""
    return "Left open" if answer.status is Status.ANSWERED else "Missing"


def _parts(answer: Answer) -> list[Part]:
    on_the_way = [
        f"{each.question} → {'' if each.sufficient else 'not found: '}{each.answer}" for each in answer.on_the_way
    ]
    shows_search = answer.status.value == "insufficient" or not answer.claims
    return [
        _part("In short", [answer.short]),
        _part("Closest", [answer.nearest.answer if answer.nearest else ""]),
        _part("Why", [answer.reasoning]),
        _part("On the way", on_the_way),
        _part("Looked for", answer.looked_for if shows_search else ()),
        _part("Found", [answer.found] if shows_search else ()),
        _part(gaps_heading(answer), answer.missing),
    ]


def _part(heading: str, lines: Sequence[str]) -> Part:
    return Part(heading=heading, lines=tuple(plain for line in lines if (plain := _plain(line))))


def _source(quote: Quote, names: dict[str, str]) -> Source:
    if quote.origin and not isinstance(quote.origin, GivenPassage):
        where = _plain(describe_origin(quote.origin))
    else:
        seen = str(quote.picture) if quote.picture else ""
        given = describe_origin(quote.origin) if quote.origin else ""
        where = ", ".join(part for part in (names[quote.document], show_pages(quote.pages), seen, given) if part)
    verbatim = quote.picture is None
    return Source(mark=str(quote.number), where=where, quote=_plain(quote.quote), verbatim=verbatim)


def _calculation(computed: Computed, names: dict[str, str]) -> Calculation:
    made_from = sorted({names[quote.document] for quote in computed.evidence})
    cut = ("Not all rows are shown.",) if computed.truncated else ()
    return Calculation(
        mark=f"C{computed.number}",
        purpose=_plain(computed.purpose),
        sql=_plain(computed.sql),
        columns=tuple(map(_plain, computed.columns)),
        rows=tuple(tuple(_cell(value) for value in row) for row in computed.rows),
        notes=(
            *((f"From {count(len(computed.evidence), 'quote')} of {', '.join(made_from)}.",) if made_from else ()),
            *cut,
            *map(_plain, computed.flaws),
        ),
    )


def _cell(value: object) -> str:
    return "" if value is None else _plain(str(value))


def _names(answer: Answer) -> dict[str, str]:
    """Return a name for each document: its file name, or its path if two share a file name."""
    quotes = [*answer.evidence, *(quote for each in answer.computations for quote in each.evidence)]
    paths = {quote.document for quote in quotes if quote.origin is None}
    names = [PurePath(path).name for path in paths]
    called = {quote.document: quote.document for quote in quotes} | {path: PurePath(path).name for path in paths}
    return {path: _plain(path if names.count(name) > 1 else name) for path, name in called.items()}


def _facts(run: RunSummary, answer: Answer) -> tuple[tuple[str, str], ...]:
    facts = {
        "Asked": f"{run.started_at:%Y-%m-%d %H:%M} UTC",
        "Collection": run.collection,
        "Model": run.model,
        "Mode": answer.mode,
        **execution_facts(answer),
        "Run": run.run_id,
    }
    return tuple((name, _plain(value)) for name, value in facts.items() if value)


def _plain(text: str) -> str:
    """Return the text on one line, without control characters."""
    return " ".join(_CONTROL.sub(" ", readable(text)).split())
