"""The faults in the model's responses during a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit


class Faults:
    """Reports repaired and rejected responses of the run, without those of the judge."""

    card: ClassVar = MetricCard(
        name="faults",
        description="Faults in the model's responses: repaired, rejected, and without a valid response.",
        figures={
            "repairs": Figure(description="number of repairs of responses", better="lower", unit="repairs"),
            "rejected_responses": Figure(
                description="number of responses that broke their schema, repeated themselves or ended early",
                better="lower",
                unit="responses",
            ),
            "schema_failure": Figure(description="a model call ended without a valid response", better="lower"),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure every run."""
        faults = case.faults
        return {
            "repairs": faults.repairs,
            "rejected_responses": faults.rejected,
            "schema_failure": float(faults.failed > 0),
        }
