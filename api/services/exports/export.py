"""Exports an answer to a file.

``Report`` contains the texts that all formats except JSON show. Markdown, Word and PDF are modules of this package. A
JSON export contains the stored answer and its run.
"""

import base64
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from importlib import import_module
from itertools import islice
from pathlib import PurePath
from typing import Self

from pydantic import Field

from api.errors import UsageError
from api.services.research.event_text import vote_lines
from api.services.research.execution_summary import describe_place, execution_facts
from api.services.templates import environment
from base.counts import count
from base.models import FrozenModel
from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer, Computed, Quote, Status
from multi_agent.values.context import Claim, Layout
from multi_agent.values.sources import readable

UNSUPPORTED = "not supported by the evidence"
NOT_SHOWN = "The page is not shown."

_CONTROL = re.compile(r"[\ufffe\uffff]")  # not allowed in XML


class Format(StrEnum):
    """A file format."""

    MARKDOWN = "md"
    HTML = "html"
    JSON = "json"
    DOCX = "docx"
    PDF = "pdf"

    @property
    def media_type(self) -> str:
        return _FORMATS[self][0]

    @property
    def has_pictures(self) -> bool:
        return self in (Format.HTML, Format.DOCX, Format.PDF)


_ENDINGS = {"markdown": Format.MARKDOWN, "htm": Format.HTML}
"""Alternative suffixes of file names."""


class Export(FrozenModel):
    """An exported file."""

    name: str
    media_type: str
    content: bytes


class Statement(FrozenModel):
    """A claim with the marks of its evidence. '1' is a quote and 'C1' a computation. Rejected claims have none."""

    text: str
    marks: tuple[str, ...]
    remark: str = Field(description="a doubt about it in words; empty if it is supported")


class Source(FrozenModel):
    """A quote and its location."""

    mark: str
    where: str = Field(description="document and page, web page, or tool")
    quote: str
    verbatim: bool = Field(default=True, description="false if a model read the words in a picture of the page")

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
    """A further section of the answer, one line per item, or a section of a report, with its statements."""

    heading: str
    lines: tuple[str, ...]
    statements: tuple[Statement, ...] = ()
    listed: bool = Field(default=False, description="whether the statements are entries of a list")


class Report(FrozenModel):
    """The texts of an exported answer, in reading order."""

    run_id: str
    question: str
    status: str
    layout: Layout = Field(description="whether the statements are a paragraph or the entries of a list")
    statements: tuple[Statement, ...] = Field(description="of an answer; those of a report are in its sections")
    parts: tuple[Part, ...]
    evidence_heading: str
    sources: tuple[Source, ...]
    calculations: tuple[Calculation, ...]
    facts: tuple[tuple[str, str], ...] = Field(description="about the run: names and values")
    pictures: Mapping[str, bytes] = Field(
        default={}, exclude=True, description="PNG of the cited page region by mark; empty if the page cannot be shown"
    )

    @classmethod
    def of(cls, run: RunSummary | None, answer: Answer, pictures: Mapping[str, bytes] | None = None) -> Self:
        """Build the report of an answer, with facts about its ``run``."""
        statements = tuple(map(_statement, answer.claims))
        return cls(
            run_id=answer.run_id,
            question=_plain(answer.completed_question or answer.question),
            status=f"{_status(answer)} · {run.started_at:%Y-%m-%d}" if run and answer.sections else _status(answer),
            layout=answer.layout,
            statements=() if answer.sections else statements,
            parts=(*_sections(answer, statements), *(part for part in _parts(answer) if part.lines)),
            evidence_heading="References" if answer.sections else "Evidence",
            sources=tuple(map(_source, answer.cited)),
            calculations=tuple(map(_calculation, answer.computations)),
            facts=_facts(run, answer),
            pictures=pictures or {},
        )

    @property
    def contents(self) -> tuple[str, ...]:
        """The headings of a report. Empty for an answer, whose statements have none."""
        headings = [each.heading for each in self.parts] + [self.evidence_heading] * bool(self.sources)
        return tuple(headings) if any(each.statements for each in self.parts) else ()

    def bullet(self, number: int) -> str:
        """Return the mark before statement ``number`` (from 1): a dash, the number, or "" in a paragraph."""
        return {"prose": "", "list": "-", "numbered_list": f"{number}."}[self.layout]


def choose_format(named: str | None, file: str = "") -> Format:
    """Return the named format, otherwise the format of the file's suffix, otherwise Markdown.

    Raises UsageError if a name or suffix is unknown, or if the two differ.
    """
    known = ", ".join(Format)
    if named is not None and named not in list(Format):
        raise UsageError(f"Unknown format {named!r}. Choose from {known}.")
    ending = PurePath(file).suffix.lower().removeprefix(".")
    by_ending = _ENDINGS.get(ending, Format(ending) if ending in list(Format) else None)
    if file and by_ending is None and named is None:
        raise UsageError(f"The suffix of {file!r} is not a known format. Use one of {known}, or set a format with -f.")
    if named is not None and by_ending not in (None, named):
        raise UsageError(
            f"The format {named!r} conflicts with the file name {file!r}. Use a name that ends in .{named}, or omit -f."
        )
    return Format(named) if named else by_ending or Format.MARKDOWN


def export(run: RunSummary, answer: Answer, wanted: Format, pictures: Mapping[str, bytes] | None = None) -> Export:
    """Export the answer to a file. ``pictures`` are those of ``draw_regions``.

    The file name contains only the run id, so it is valid on every system.
    """
    name = f"candor-{re.sub(r'[^A-Za-z0-9_-]', '_', run.run_id)}.{wanted.value}"
    content = _render(run, answer, wanted, pictures)
    return Export(name=name, media_type=wanted.media_type, content=content)


def _render(run: RunSummary, answer: Answer, wanted: Format, pictures: Mapping[str, bytes] | None) -> bytes:
    """Return the content of the file: as JSON the stored values, as HTML one page without scripts or other files."""
    if wanted is Format.JSON:
        whole = {"run": run.model_dump(mode="json"), "answer": answer.model_dump(mode="json")}
        return (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()
    report = Report.of(run, answer, pictures)
    if wanted is Format.HTML:  # the template escapes all text of documents and models
        template = environment("api.services.exports", html=True).get_template("page.html.jinja")
        urls = {mark: base64.b64encode(picture).decode() for mark, picture in report.pictures.items()}
        return template.render(report=report, pictures=urls, not_shown=NOT_SHOWN).encode()
    render: Callable[[RunSummary, Report], bytes] = import_module(f"api.services.exports.{_FORMATS[wanted][1]}").render
    return render(run, report)


_FORMATS = {
    Format.MARKDOWN: ("text/markdown; charset=utf-8", "markdown"),
    Format.HTML: ("text/html; charset=utf-8", ""),
    Format.JSON: ("application/json", ""),
    Format.DOCX: ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", "word"),
    Format.PDF: ("application/pdf", "pdf"),
}


def _statement(claim: Claim) -> Statement:
    remark = UNSUPPORTED if claim.remark == "unsupported" else claim.remark
    return Statement(text=_plain(claim.text), marks=_marks(claim), remark=remark)


def _sections(answer: Answer, statements: Sequence[Statement]) -> Iterator[Part]:
    """Yield the sections of a report with their statements, in the layout of its text."""
    left, listed = iter(statements), "\n- " in answer.answer
    for each in answer.sections:
        own = tuple(islice(left, each.claims))
        yield _part(_plain(each.title), each.notes).model_copy(update={"statements": own, "listed": listed})


def _marks(claim: Claim) -> tuple[str, ...]:
    marks = (*map(str, claim.evidence), *(f"C{number}" for number in claim.computations))
    return marks if claim.stands else ()


def _status(answer: Answer) -> str:
    return _plain(f"{answer.outcome}{basis_of(answer)}")


def basis_of(answer: Answer) -> str:
    """Return what the answer rests on, after a dot. Older answers only have a number."""
    basis = answer.basis or f"confidence {answer.confidence:.2f}"
    return f" · {basis}" if answer.answer or answer.imported else ""


def checks_of(answer: Answer) -> list[str]:
    """Return the result of the checks and how each claim was checked, in words."""
    result = [answer.checks] if answer.checks not in ("", answer.reasoning) else []
    return result + [f"{claim.checked} — {claim.text}" for claim in answer.claims if claim.checked]


OTHER_VALUES = "Other values in what was read"


def contradictions_of(answer: Answer) -> list[str]:
    """Return the pairs of statements that may contradict each other, in words."""
    return [" – but: ".join(sides) for sides in answer.contradictions]


def gaps_heading(answer: Answer) -> str:
    """Return the heading of the gaps. Even a sufficient answer can have gaps."""
    return "Left open" if answer.status in (Status.ANSWERED, Status.PARTIAL) else "Missing"


def _parts(answer: Answer) -> list[Part]:
    if answer.sections:
        return [
            _part(OTHER_VALUES, contradictions_of(answer)),
            _part(gaps_heading(answer), answer.missing),
            _part("How the sections were researched", [str(each) for each in answer.sections if each.run]),
        ]
    on_the_way = [
        f"{each.question} → {'' if each.sufficient else 'not found: '}{each.answer}" for each in answer.on_the_way
    ]
    shows_search = answer.status.value == "insufficient" or not answer.claims
    return [
        _part("Asked back", [answer.clarification.question] if answer.clarification else []),
        _part("In short", [answer.short]),
        _part("Parts", [str(each) for each in answer.parts]),
        *(_part("Vote", vote_lines(vote)) for vote in answer.votes),
        _part("Closest", [answer.nearest.answer if answer.nearest else ""]),
        _part(OTHER_VALUES, contradictions_of(answer)),
        _part("Checks of the claims", checks_of(answer)),
        _part("Why", [] if answer.clarification else answer.reasoning.splitlines()),
        _part("On the way", on_the_way),
        _part("Looked for", answer.looked_for if shows_search else ()),
        _part("Found", [answer.found] if shows_search else ()),
        _part(gaps_heading(answer), answer.missing),
    ]


def _part(heading: str, lines: Sequence[str]) -> Part:
    return Part(heading=heading, lines=tuple(plain for line in lines if (plain := _plain(line))))


def _source(quote: Quote) -> Source:
    where = ", ".join(str(part) for part in (describe_place(quote), quote.dated, quote.picture) if part)
    verbatim = quote.picture is None
    return Source(mark=str(quote.number), where=_plain(where), quote=_plain(quote.quote), verbatim=verbatim)


def _calculation(computed: Computed) -> Calculation:
    made_from = sorted({_plain(quote.name) for quote in computed.evidence})
    cut = ("Not all rows are shown.",) if computed.truncated else ()
    return Calculation(
        mark=f"C{computed.number}",
        purpose=_plain(computed.purpose),
        sql=_plain(computed.sql),
        columns=tuple(map(_plain, computed.columns)),
        rows=tuple(tuple("" if value is None else _plain(str(value)) for value in row) for row in computed.rows),
        notes=(
            *((f"From {count(len(computed.evidence), 'quote')} of {', '.join(made_from)}.",) if made_from else ()),
            *((f"From {_plain(computed.source)}.",) if computed.source else ()),
            *cut,
            *map(_plain, computed.flaws),
        ),
    )


def _facts(run: RunSummary | None, answer: Answer) -> tuple[tuple[str, str], ...]:
    facts = execution_facts(answer)
    if run:
        asked = {"Asked": f"{run.started_at:%Y-%m-%d %H:%M} UTC", "Collection": run.collection, "Model": run.model}
        facts = {**asked, "Mode": answer.mode, **facts, "Run": run.run_id}
    return tuple((name, _plain(value)) for name, value in facts.items() if value)


def _plain(text: str) -> str:
    """Return the text on one line, without control characters."""
    return " ".join(_CONTROL.sub(" ", readable(text)).split())
