"""Trace ids, derived from run ids so that a resumed run continues its trace."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from opentelemetry.sdk.trace.id_generator import RandomIdGenerator

_TRACE_DIGITS, _SPAN_DIGITS = 32, 16


def trace_id_of(run_id: str) -> int:
    """Return the trace id of a run: the first 32 digits of the SHA-256 hash of its id."""
    return int(_hash(run_id)[:_TRACE_DIGITS], 16)


class RunIds(RandomIdGenerator):
    """Generates random ids, except for the span of a run."""

    def __init__(self) -> None:
        self._run: ContextVar[str] = ContextVar("run", default="")

    @contextmanager
    def of_run(self, run_id: str) -> Iterator[None]:
        """Give a root span that is started inside the block the ids of the run."""
        token = self._run.set(run_id)
        try:
            yield
        finally:
            self._run.reset(token)

    def generate_trace_id(self) -> int:
        run_id = self._run.get()
        return trace_id_of(run_id) if run_id else super().generate_trace_id()

    def generate_span_id(self) -> int:
        run_id = self._run.get()
        return int(_hash(run_id)[-_SPAN_DIGITS:], 16) if run_id else super().generate_span_id()


def _hash(run_id: str) -> str:
    return hashlib.sha256(run_id.encode()).hexdigest()
