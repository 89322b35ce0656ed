"""The usage of a run, and the faults in its responses."""

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit


class Spending:
    """Reports the usage of the run, without the judge."""

    card: ClassVar = MetricCard(
        name="spending",
        description="Model calls, tokens, time and cost.",
        figures={
            "model_calls": Figure(description="number of model calls", better="lower", unit="calls"),
            "prompt_tokens": Figure(description="total tokens of prompts", better="lower", unit="tokens"),
            "completion_tokens": Figure(description="total tokens of responses", better="lower", unit="tokens"),
            "seconds": Figure(description="time from question to answer", better="lower", unit="s"),
            "cost": Figure(
                description="computed from the prices in the settings, if any", better="lower", unit="in your currency"
            ),
        },
    )

    async def measure(self, case: Case, kit: MetricKit) -> Mapping[str, float]:
        """Measure every run."""
        usage = case.answer.usage
        return {
            "model_calls": usage.model_calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "seconds": usage.seconds,
            **({} if usage.cost is None else {"cost": usage.cost}),
        }


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
