"""Whether the quotes stand where the answer says, and where the gold says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from multi_agent.evaluation.case import Case, lies_in
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit


class Citations:
    """Without a model; whether a quote bears out its claim is the judge's (``support.py``)."""

    card: ClassVar = MetricCard(
        name="citations",
        description="The quotes that claims stand on, against their sources and against the gold.",
        figures={
            "citation_in_source": Figure(description="of the quotes, how many stand in their document, word for word"),
            "citation_precision": Figure(description="of the quotes, how many lie in the gold"),
            "citation_recall": Figure(description="of the gold, how much is quoted"),
            "claims_cited": Figure(description="of the claims, how many stand on evidence"),
        },
    )

    def __init__(self, kit: MetricKit) -> None:
        pass

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Applies to answers; precision and recall where there is gold, at its finest: passage, page or document."""
        if not case.answered:
            return {}
        figures: dict[str, float] = {}
        if claims := case.answer.claims:
            figures["claims_cited"] = _share([claim.supported for claim in claims])
        if case.cited:
            figures["citation_in_source"] = _share([each.in_source for each in case.cited])
        if gold := case.question.gold:
            figures["citation_recall"] = _share([any(lies_in(g, each) for each in case.cited) for g in gold])
            if case.cited:
                figures["citation_precision"] = _share([any(lies_in(g, each) for g in gold) for each in case.cited])
        return figures


def _share(held: Sequence[bool]) -> float:
    return sum(held) / len(held)
