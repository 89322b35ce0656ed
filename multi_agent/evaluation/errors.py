"""Errors of question sets, metrics and evaluations."""

from multi_agent.errors import AgentError


class QuestionSetError(AgentError):
    """A question set is invalid. The message lists up to 20 faults with their lines."""


class MetricError(AgentError):
    """A metric could not measure an answer. Counted separately, not as a zero."""


class EvaluationNotFound(AgentError):
    """There is no evaluation with that id."""


class EvaluationError(AgentError):
    """An evaluation cannot be computed, resumed or compared."""
