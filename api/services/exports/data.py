"""Renders an answer as JSON: the run and the answer as stored."""

from __future__ import annotations

import json

from multi_agent.storage.trace import RunSummary
from multi_agent.values.answer import Answer


def render(run: RunSummary, answer: Answer) -> bytes:
    """Return ``{"run": …, "answer": …}`` as in ``GET /v1/runs/{run_id}``."""
    whole = {"run": run.model_dump(mode="json"), "answer": answer.model_dump(mode="json")}
    return (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()
