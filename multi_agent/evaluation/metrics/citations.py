"""Compares cited quotes with their sources and with gold, without a model. ``support.py`` judges their meaning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from multi_agent.evaluation.case import Case, matches_gold
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit


class Citations:
    card: ClassVar = MetricCard(
        name="citations",
        description="Cited quotes, compared with their documents and with gold.",
        figures={
            "citation_in_source": Figure(description="share of quotes that their document contains verbatim"),
            "citation_precision": Figure(description="share of quotes that match gold"),
            "citation_recall": Figure(description="share of gold that is quoted"),
            "claims_cited": Figure(description="share of claims with evidence"),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure answers. Precision and recall need gold, and use its finest level: passage, page or document."""
        if not case.answered:
            return {}
        figures: dict[str, float] = {}
        if claims := case.answer.claims:
            figures["claims_cited"] = _share([claim.stands for claim in claims])
        if quotes := [each for each in case.cited if not each.pictured]:
            figures["citation_in_source"] = _share([each.in_source for each in quotes])
        if gold := case.question.gold:
            figures["citation_recall"] = _share([any(matches_gold(g, each) for each in case.cited) for g in gold])
            if case.cited:
                figures["citation_precision"] = _share(
                    [any(matches_gold(g, each) for g in gold) for each in case.cited]
                )
        return figures


def _share(values: Sequence[bool]) -> float:
    return sum(values) / len(values)
