"""Asking one question from the command line: the run, its live progress, and Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from api.bootstrap import Candor
from api.cli.terminal_approvals import TerminalApprovals
from api.errors import UsageError
from multi_agent.answer import Answer
from multi_agent.errors import AgentError
from multi_agent.events import Event
from multi_agent.orchestrator.orchestrator import new_run_id
from multi_agent.request import Request
from multi_agent.settings import Budget

if TYPE_CHECKING:
    from multi_agent.llm.models import Models


def run_question(
    candor: Candor, request: Request, collection: str | None, *, progress: bool, models: Models | None = None
) -> Answer:
    """The answer, in whatever terminal state; interrupted, it is the stored one of the cancelled run.

    Raises UsageError, StoreError, AgentError: what keeps a run from starting.
    """
    run_id = new_run_id()
    approve = TerminalApprovals(candor.tools.approvals).listen
    listeners = (_tell, approve) if progress else (approve,)
    with candor.open_library(candor.collection_name(collection)) as library:
        orchestrator = candor.orchestrator(library, models)
        try:
            return asyncio.run(orchestrator.research(request, *listeners, run_id=run_id))
        except KeyboardInterrupt:
            return candor.trace.answer(run_id)


def make_request(question: str, chosen: dict[str, Any], limits: dict[str, Any], budget: Budget) -> Request:
    """The request that was given on the command line; limits that were given take the place of the settings'.

    Raises UsageError for what cannot be.
    """
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if chosen["agent"] and chosen["mode"] == "auto":
        chosen = {**chosen, "mode": "direct"}
    try:
        own = Budget.model_validate({**budget.model_dump(), **given}) if given else None
        return Request.model_validate({"question": question, "budget": own, **chosen}).validated()
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise UsageError(f"That cannot be asked so: {faults}.") from error
    except AgentError as error:
        raise UsageError(str(error)) from error


async def _tell(event: Event) -> None:
    """A line of progress for what a person would want to watch."""
    from rich.console import Console

    from api.cli.render.terminal import show_progress

    show_progress(Console(file=sys.stderr, highlight=False), event)
