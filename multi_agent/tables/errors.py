"""Errors of tables."""

from __future__ import annotations

from multi_agent.errors import AgentError


class TableNotFound(AgentError):
    """There is no table of that name."""


class TableError(AgentError):
    """A column, a document or a value does not fit the table. The message says what is possible."""
