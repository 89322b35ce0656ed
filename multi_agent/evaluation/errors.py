"""What an evaluation can refuse."""

from __future__ import annotations

from multi_agent.errors import AgentError


class QuestionSetError(AgentError):
    """A question set cannot be read; the message names its faults, 20 at most, with their lines."""


class MetricError(AgentError):
    """A metric could not judge an answer; it is counted apart and is not a zero."""


class EvaluationNotFound(AgentError):
    """There is no evaluation of that id."""


class EvaluationError(AgentError):
    """An evaluation cannot be made, resumed or compared as asked."""
