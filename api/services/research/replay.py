"""Replays a run that a caller may read."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from api.auth.permissions import Caller
from api.services.research.research import PanelFactory
from api.services.research.runs import find_run
from multi_agent.library import Library
from multi_agent.orchestrator.rerun.difference import Cause
from multi_agent.orchestrator.rerun.replay import Replay, replay
from multi_agent.storage.recording import load_recording
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
