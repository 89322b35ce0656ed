"""Research of one question in this process, with live progress on standard error."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from api.auth.permissions import LOCAL_CALLER
from api.cli.ask.approvals import TerminalApprovals
from api.errors import UsageError, fault_list
from api.services.documents.collections import Collections
from api.services.research.conversation import collection_to_ask, with_conversation
from api.services.research.research import PanelFactory, request_fields
from multi_agent.errors import AgentError
from multi_agent.orchestrator.orchestrator import new_run_id
from multi_agent.settings.research import Budget
from multi_agent.storage.run_filter import RunState
from multi_agent.values.answer import Answer
from multi_agent.values.bus import Subscriber
from multi_agent.values.request import Request

if TYPE_CHECKING:
    from multi_agent.llm.models import Models


def run_question(
    panel: PanelFactory,
    collections: Collections,
    request: Request,
    collection: str | None,
    *,
    progress: bool,
    models: Models | None = None,
) -> Answer:
    """Research the question and return the answer. A cancelled run has one, too.

    Raises UsageError, StoreError or AgentError if the run cannot start.
    """
    named = collection_to_ask(panel.trace, request, collection, LOCAL_CALLER)
    name = collections.resolve(named)
    request = with_conversation(panel.trace, request, name, LOCAL_CALLER)
    return _research(panel, collections, request, name, new_run_id(), progress=progress, models=models)


def resume_run(panel: PanelFactory, collections: Collections, run_id: str, *, progress: bool) -> Answer:
    """Continue an interrupted run and return the answer. Finished model calls cost nothing again.

    Raises RunNotFound, UsageError if the run was not interrupted, and like ``run_question``.
    """
    run = panel.trace.run(run_id)
    if run.status != RunState.INTERRUPTED:
        raise UsageError(f"Run {run.run_id!r} was not interrupted: it is {run.status}.")
    started = panel.trace.started(run.run_id)
    if started is None:
        raise UsageError(f"Run {run.run_id!r} was interrupted before its first event. Ask the question again.")
    return _research(panel, collections, started.request, run.collection, run.run_id, progress=progress)


def _research(
    panel: PanelFactory,
    collections: Collections,
    request: Request,
    name: str,
    run_id: str,
    *,
    progress: bool,
    models: Models | None = None,
) -> Answer:
    listeners: list[Subscriber] = [TerminalApprovals(panel.tools.approvals).listen]
    with ExitStack() as stack:
        if progress:
            from api.cli.ask.progress import live_progress

            listeners.insert(0, stack.enter_context(live_progress(name)))
        library = stack.enter_context(collections.open_library(name))
        stack.enter_context(panel.command_runs.hold(run_id))
        research = panel.orchestrator(library, models).research(request, *listeners, run_id=run_id)
        try:
            return asyncio.run(panel.command_runs.research(run_id, research))
        except (KeyboardInterrupt, asyncio.CancelledError):  # Ctrl-C, or `candor runs cancel` in another process
            return panel.trace.answer(run_id)


def parse_inputs(given: Sequence[str]) -> dict[str, str]:
    """Return the values of ``--input NAME=VALUE`` by name. Raises UsageError if a name or ``=`` is missing."""
    pairs = [each.partition("=") for each in given]
    for whole, (name, equals, _) in zip(given, pairs, strict=True):
        if not name.strip() or not equals:
            raise UsageError(f"--input {whole!r} is not NAME=VALUE, such as --input company=Apple.")
    return {name.strip(): value for name, _, value in pairs}


def make_request(question: str, options: dict[str, Any], limits: dict[str, Any], budget: Budget) -> Request:
    """Build the request from command-line options. Limits other than None override those of ``budget``.

    Raises UsageError if an option is invalid.
    """
    given = {name: limit for name, limit in limits.items() if limit is not None}
    try:
        own_budget = Budget.model_validate({**budget.model_dump(), **given}) if given else None
        return Request.model_validate(
            request_fields({"question": question, "budget": own_budget, **options})
        ).validated()
    except ValidationError as error:
        raise UsageError(f"Invalid request: {fault_list(error)}.") from error
    except AgentError as error:
        raise UsageError(str(error)) from error
