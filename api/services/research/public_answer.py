"""The part of an answer for keys that can only ask: nothing about the run, its model and unread files."""

from __future__ import annotations

from pydantic import Field

from api.services.exports.export import Calculation, Report, Statement
from base.models import FrozenModel
from multi_agent.values.answer import Answer, Quote, Status
from multi_agent.values.context import Clarification, Layout


class PublicCitation(FrozenModel):
    """A quote with its document, or the computation of a mark such as C1."""

    mark: str = Field(description="the mark in the statements")
    document: str = Field(description="name of the document; empty for a computation")
    pages: tuple[int, ...] = ()
    section: tuple[str, ...] = Field(default=(), description="headings above the quote, outermost first")
    quote: str = Field(description="words of the document, or what was computed from what")
    verbatim: bool = Field(description="false for a computation, and for words that a model read in a picture")

    @classmethod
    def of(cls, quote: Quote) -> PublicCitation:
        """Return the citation of a quote."""
        fields = {name: getattr(quote, name) for name in ("pages", "section", "quote")}
        return cls(mark=str(quote.number), document=quote.name, verbatim=quote.picture is None, **fields)

    @classmethod
    def of_calculation(cls, each: Calculation) -> PublicCitation:
        """Return what was computed, without the query and the rows."""
        return cls(mark=each.mark, document="", quote=" ".join((each.purpose, *each.notes)), verbatim=False)


class PublicAnswer(FrozenModel):
    """The answer to a key that can only ask."""

    status: Status
    basis: str = Field(description="what the answer rests on, in words; empty if there is none")
    layout: Layout = Field(description="whether the statements are a paragraph or the entries of a list")
    statements: tuple[Statement, ...]
    short: str = Field(description="the bare answer, also if there are no statements")
    nearest: str = Field(description="the nearest answer, if the documents do not contain the requested one")
    missing: tuple[str, ...] = Field(description="what an answer leaves open")
    clarification: Clarification | None = Field(description="what to ask back; null if the question is clear")
    citations: tuple[PublicCitation, ...]

    @classmethod
    def of(cls, answer: Answer) -> PublicAnswer:
        """Return the public part of an answer.

        Without one, this leaves out the reason, which can name addresses, and what is missing, which can name files.
        """
        report = Report.of(None, answer)
        is_answered = answer.status in (Status.ANSWERED, Status.PARTIAL)
        return cls(
            status=answer.status,
            basis=answer.basis if is_answered else "",
            layout=report.layout,
            statements=report.statements,
            short=answer.short,
            nearest=str(answer.nearest or ""),
            missing=answer.missing if is_answered else (),
            clarification=answer.clarification,
            citations=(
                *map(PublicCitation.of, answer.cited),
                *map(PublicCitation.of_calculation, report.calculations),
            ),
        )
