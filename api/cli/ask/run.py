"""Research one question in this process, with live progress on standard error."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from api.bootstrap import Candor
from api.cli.ask.approvals import TerminalApprovals
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
    """Return the answer; after Ctrl-C, the stored answer of the cancelled run.

    Raises UsageError, StoreError or AgentError if the run cannot start.
    """
    run_id = new_run_id()
    approve = TerminalApprovals(candor.tools.approvals).listen
    listeners = (_show_progress, approve) if progress else (approve,)
    with candor.open_library(candor.collection_name(collection)) as library:
        orchestrator = candor.orchestrator(library, models)
        try:
            return asyncio.run(orchestrator.research(request, *listeners, run_id=run_id))
        except KeyboardInterrupt:
            return candor.trace.answer(run_id)


def make_request(question: str, options: dict[str, Any], limits: dict[str, Any], budget: Budget) -> Request:
    """Build the request from command-line options. Limits that are given override those of ``budget``.

    Raises UsageError if an option is invalid.
    """
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if options["agent"] and options["mode"] == "auto":
        options = {**options, "mode": "direct"}
    try:
        own_budget = Budget.model_validate({**budget.model_dump(), **given}) if given else None
        return Request.model_validate({"question": question, "budget": own_budget, **options}).validated()
    except ValidationError as error:
        faults = "; ".join(f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise UsageError(f"Invalid request: {faults}.") from error
    except AgentError as error:
        raise UsageError(str(error)) from error


async def _show_progress(event: Event) -> None:
    from rich.console import Console

    from api.cli.render.events import show_progress

    show_progress(Console(file=sys.stderr, highlight=False), event)
