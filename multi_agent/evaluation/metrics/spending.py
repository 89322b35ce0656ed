"""What an answer cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from multi_agent.evaluation.case import Case
from multi_agent.evaluation.metric import Figure, MetricCard, MetricKit


class Spending:
    """As the run's usage says; what a judge spends is not the answer's."""

    card: ClassVar = MetricCard(
        name="spending",
        description="Model calls, tokens, time and money.",
        figures={
            "model_calls": Figure(description="requests to the model", better="lower", unit="calls"),
            "prompt_tokens": Figure(description="tokens of all prompts", better="lower", unit="tokens"),
            "completion_tokens": Figure(description="tokens of all responses", better="lower", unit="tokens"),
            "seconds": Figure(description="from the question to the answer", better="lower", unit="s"),
            "cost": Figure(description="by the prices of the settings", better="lower", unit="money"),
        },
    )

    def __init__(self, kit: MetricKit) -> None:
        pass

    async def measure(self, case: Case) -> Mapping[str, float]:
        """Applies to every run."""
        usage = case.answer.usage
        return {
            "model_calls": usage.model_calls,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "seconds": usage.seconds,
            "cost": usage.cost,
        }
