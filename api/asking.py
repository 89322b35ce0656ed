"""Asking one question from the command line: the run, its live progress, and Ctrl-C."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING

from api.bootstrap import Candor
from multi_agent.answer import Answer
from multi_agent.events import Event
from multi_agent.orchestrator.orchestrator import new_run_id

if TYPE_CHECKING:
    from multi_agent.llm.llm import LLM


def run_question(
    candor: Candor, question: str, collection: str | None, *, progress: bool, llm: LLM | None = None
) -> Answer:
    """The answer, in whatever terminal state; interrupted, it is the stored one of the cancelled run.

    Raises UsageError, StoreError: what keeps a run from starting.
    """
    run_id = new_run_id()
    listeners = (_tell,) if progress else ()
    with candor.open_library(candor.collection_name(collection)) as library:
        orchestrator = candor.orchestrator(library, llm)
        try:
            return asyncio.run(orchestrator.research(question, *listeners, run_id=run_id))
        except KeyboardInterrupt:
            return candor.trace.answer(run_id)


async def _tell(event: Event) -> None:
    """A line of progress for what a person would want to watch."""
    from rich.console import Console

    from api.rendering import show_progress

    show_progress(Console(file=sys.stderr, highlight=False), event)
