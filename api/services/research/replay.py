"""Repeats earlier runs: replays, forks with a change, and the same question again."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

from api.auth.permissions import Caller
from api.errors import UsageError
from api.services.research.research import PanelFactory
from api.services.research.runs import find_run
from base.models import FrozenModel
from multi_agent.errors import RunUnderWay
from multi_agent.library import Library
from multi_agent.orchestrator.rerun.difference import Cause
from multi_agent.orchestrator.rerun.forking import ForkOptions, fork_options, require_possible
from multi_agent.orchestrator.rerun.replay import Replay, replay
from multi_agent.storage.recording import load_recording
from multi_agent.storage.trace import RunSummary, Trace
from multi_agent.values.request import Fork, ForkChange, Request
from vectorstore.errors import CollectionMismatch, CollectionNotFound

OpenLibrary = Callable[[str], AbstractContextManager[Library]]


async def replay_run(panel: PanelFactory, open_library: OpenLibrary, run_id: str, caller: Caller) -> Replay:
    """Repeat the run from its journal and compare its events. Calls no model or tool and stores nothing.

    A deleted collection, or one with another embedding model, is reported as the cause. Raises RunNotFound,
    RunUnderWay, StoreError.
    """
    run = find_run(panel.trace, run_id, caller)
    recording = load_recording(panel.trace, panel.tools.calls, run.run_id)
    try:
        with open_library(run.collection) as library:
            return await replay(panel.orchestrator(library, key=run.key), recording)
    except CollectionMismatch as error:
        cause = Cause(kind="index", name="store.embedding.model", change="is not the model of the collection")
        return Replay(run_id=run.run_id, same=False, events=0, causes=(cause,), error=str(error))
    except CollectionNotFound as error:
        cause = Cause(kind="document", name=run.collection, change="(the whole collection) was deleted")
        return Replay(run_id=run.run_id, same=False, events=0, causes=(cause,), error=str(error))


def fork_request(
    panel: PanelFactory, open_library: OpenLibrary, run_id: str, change: ForkChange, caller: Caller
) -> tuple[str, Request]:
    """Return the collection and the request of a fork. The original run stays unchanged.

    Raises RunNotFound, RunUnderWay, StoreError; AgentError or PlanError if the change is not possible, and UsageError
    if the run never started.
    """
    run = _ended_run(panel.trace, run_id, caller)
    started = panel.trace.started(run.run_id)
    if started is None:
        raise UsageError(f"Run {run.run_id!r} ended before it started, so there is nothing to fork. Ask again.")
    fork = Fork(run_id=run.run_id, **dict(change))
    with open_library(run.collection) as library:
        documents = [entry.name for entry in library.catalogue()]
    require_possible(panel.trace, panel.catalog.registry(), documents, fork)
    return run.collection, started.request.model_copy(update={"fork": fork})


def step_options(panel: PanelFactory, run_id: str, step: str, caller: Caller) -> ForkOptions:
    """Return what a fork from this step can change. Raises RunNotFound, RunUnderWay, AgentError."""
    run = _ended_run(panel.trace, run_id, caller)
    return fork_options(panel.trace, panel.catalog.registry(), run.run_id, step)


def _ended_run(trace: Trace, run_id: str, caller: Caller) -> RunSummary:
    run = find_run(trace, run_id, caller)
    if not run.ended:
        raise RunUnderWay(f"Run {run.run_id!r} has not ended. Wait for its end, or cancel it, to fork it.")
    return run


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
    completed = trace.answer(run.run_id).completed_question if run.ended else ""
    defaults = {name: field.default for name, field in Request.model_fields.items() if name in _NOT_REPEATED}
    update = {"question": completed or started.request.question, **defaults}
    return Earlier(collection=run.collection, request=started.request.model_copy(update=update))
