"""An answer that shows itself with its quotes, in print and in notebooks."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from candor_client.models import Answer as AnswerFields
from candor_client.models import Quote


class Answer(AnswerFields):
    """The answer to a question. ``print`` and notebooks show it with its quotes."""

    @property
    def cited(self) -> list[Quote]:
        """The quotes that claims cite, by number."""
        numbers = {number for claim in self.claims for number in claim.evidence}
        return [quote for quote in self.evidence if quote.number in numbers]

    def __str__(self) -> str:
        return "\n".join(filter(None, self._lines()))

    def _repr_html_(self) -> str:
        head, _, rest = str(self).partition("\n")
        return f'<div style="white-space: pre-wrap"><strong>{escape(head)}</strong>\n{escape(rest)}</div>'

    def _lines(self) -> Iterator[str]:
        yield " · ".join(filter(None, (self.status.replace("_", " ").capitalize(), self.basis)))
        yield self.answer or self.reasoning
        if self.clarification:
            yield from (self.clarification.question, *(f"- {each.question}" for each in self.clarification.candidates))
        yield from (f"Missing: {each}" for each in self.missing)
        for quote in self.cited:
            pages = quote.printed_pages or ", ".join(map(str, quote.pages))
            place = f"page {pages}" if pages else " › ".join(quote.section)
            read = "read by a model in a picture" if quote.picture else ""
            source = ", ".join(filter(None, (quote.document, place, read)))
            yield f"[{quote.number}] {source}: “{quote.quote}”"
        for each in self.computations:
            yield f"[C{each.number}] {each.purpose}. From {each.source or f'{len(each.evidence)} quotes'}."
