"""Asks the question of an earlier run again, with the same or other options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from api.auth.permissions import Caller
from api.errors import UsageError
from api.services.research.runs import find_run
from base.models import FrozenModel
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.request import Request

_WAYS = frozenset({"mode", "agent", "agents", "template", "inputs"})
"""The options that select who answers. Setting one of them replaces all of them."""
_NOT_REPEATED = frozenset({"session", "conversation", "continues", "complete", "today", "budget", "fork"})


class Earlier(FrozenModel):
    """The collection and the request of an earlier run.

    For a run in a conversation, the request has the completed question, which makes sense without the conversation.
    """

    collection: str
    request: Request

    def options(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of the request, updated with the changes. A changed choice of who answers replaces it."""
        left_out = _NOT_REPEATED | {"question"} | (_WAYS if changes.keys() & _WAYS else frozenset())
        kept = {name: getattr(self.request, name) for name in Request.model_fields if name not in left_out}
        return {**kept, **changes}


def find_earlier(trace: Trace, run_id: str, caller: Caller) -> Earlier:
    """Return the collection and request of a run. Raises RunNotFound, and UsageError if the run has not started."""
    run = find_run(trace, run_id, caller)
    started = trace.started(run.run_id)
    if started is None:
        raise UsageError(f"{run.run_id} ended before it started, so its options are unknown. Ask its question again.")
    question = _completed(trace, run) or started.request.question
    request = started.request.model_copy(update={"question": question, **_defaults(_NOT_REPEATED)})
    return Earlier(collection=run.collection, request=request)


def _completed(trace: Trace, run: RunSummary) -> str:
    return trace.answer(run.run_id).completed_question if run.ended else ""


def _defaults(names: frozenset[str]) -> dict[str, Any]:
    return {name: Request.model_fields[name].default for name in names if name in Request.model_fields}
