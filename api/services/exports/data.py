"""An answer as JSON: the run and the answer just as they are stored."""

from __future__ import annotations

import json

from multi_agent.answer import Answer
from multi_agent.storage.trace import RunSummary


def render(run: RunSummary, answer: Answer) -> bytes:
    """``{"run": …, "answer": …}``, as ``GET /v1/runs/{run_id}`` gives them."""
    whole = {"run": run.model_dump(mode="json"), "answer": answer.model_dump(mode="json")}
    return (json.dumps(whole, ensure_ascii=False, indent=2) + "\n").encode()
