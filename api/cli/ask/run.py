"""Research of one question in this process, with live progress on standard error."""

import json
import sys
import threading
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import typer

from api.auth.permissions import LOCAL_CALLER
from api.bootstrap import Candor
from api.cli.common import INTERRUPTED, Cli, make_console, print_json, print_message, print_text
from api.cli.render.answers import show_answer
from api.cli.render.run_events import live_progress
from api.errors import UsageError
from api.services.research.conversation import collection_to_ask, with_conversation
from api.services.research.event_text import format_arguments
from api.services.research.research import make_request
from multi_agent.errors import ApprovalClosed, ToolError
from multi_agent.llm.models import Models
from multi_agent.orchestrator.orchestrator import new_run_id
from multi_agent.settings.research import Budget
from multi_agent.storage.run_filter import RunState
from multi_agent.toolbox.approvals import Approvals, Choice
from multi_agent.values.answer import Answer, Status
from multi_agent.values.bus import Subscriber
from multi_agent.values.events import ApprovalRequested, Event
from multi_agent.values.request import Request


def run_question(
    candor: Candor, request: Request, collection: str | None, *, progress: bool, steps: bool = False,
    models: Models | None = None,
) -> Answer:  # fmt: skip
    """Research the question and return the answer. A cancelled run has one, too.

    ``progress`` shows one line while it works, ``steps`` each step.

    Raises UsageError, StoreError or AgentError if the run cannot start.
    """
    named = collection_to_ask(candor.trace, request, collection, LOCAL_CALLER)
    name = candor.collections.resolve(named)
    request = with_conversation(candor.trace, request, name, LOCAL_CALLER)
    return _research(candor, request, name, new_run_id(), progress=progress, steps=steps, models=models)


def resume_run(candor: Candor, run_id: str, *, progress: bool) -> Answer:
    """Continue an interrupted run and return the answer. Finished model calls cost nothing again.

    Raises RunNotFound, UsageError if the run was not interrupted, and like ``run_question``.
    """
    run = candor.trace.run(run_id)
    if run.status != RunState.INTERRUPTED:
        raise UsageError(f"Run {run.run_id!r} was not interrupted: it is {run.status}.")
    started = candor.trace.started(run.run_id)
    if started is None:
        raise UsageError(f"Run {run.run_id!r} was interrupted before its first event. Ask the question again.")
    return _research(candor, started.request, run.collection, run.run_id, progress=progress)


def _research(
    candor: Candor, request: Request, name: str, run_id: str, *, progress: bool, steps: bool = False,
    models: Models | None = None,
) -> Answer:  # fmt: skip
    listeners: list[Subscriber] = [TerminalApprovals(candor.tools.approvals).listen]
    with ExitStack() as stack:
        if progress:
            listeners.insert(0, stack.enter_context(live_progress(name, steps=steps)))
        library = stack.enter_context(candor.collections.open_library(name))
        research = candor.panel.orchestrator(library, models).research(request, *listeners, run_id=run_id)
        return candor.command_runs.run(run_id, research, candor.trace)


def show_and_end(cli: Cli, answer: Answer, *, note: str = "", verbose: bool = False, quiet: bool = False) -> None:
    """Print the answer, then a note for people. Raises Exit if the run failed (1) or was cancelled (130)."""
    if cli.as_json:
        print_json(answer)
    elif quiet:
        print_text(answer.answer or answer.reasoning)
    else:
        show_answer(make_console(), answer, cli.home, full=verbose)
        if note:
            print_message(note)
    if answer.status in (Status.FAILED, Status.CANCELLED):
        raise typer.Exit(1 if answer.status is Status.FAILED else INTERRUPTED)


def parse_inputs(given: Sequence[str]) -> dict[str, str]:
    """Return the values of ``--input NAME=VALUE`` by name. Raises UsageError if a name or ``=`` is missing."""
    pairs = [each.partition("=") for each in given]
    for whole, (name, equals, _) in zip(given, pairs, strict=True):
        if not name.strip() or not equals:
            raise UsageError(f"--input {whole!r} is not NAME=VALUE, such as --input company=Apple.")
    return {name.strip(): value for name, _, value in pairs}


def make_budgeted(question: str, options: dict[str, Any], limits: dict[str, Any], budget: Budget) -> Request:
    """Build the request from command-line options. Limits other than None override those of ``budget``.

    Raises UsageError if an option is invalid.
    """
    given = {name: limit for name, limit in limits.items() if limit is not None}
    own = {**budget.model_dump(), **given} if given else None
    return make_request({"question": question, "budget": own, **options})


_NO_TERMINAL = "candor ask, which has no terminal to ask on"  # stored with the decision


class TerminalApprovals:
    """Asks the user to approve dangerous tool calls, one at a time. Pass ``listen`` to a run as a subscriber."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._prompt_lock = threading.Lock()

    async def listen(self, event: Event) -> None:
        """Decide on an ApprovalRequested event. Ignores all other events."""
        if not isinstance(event.body, ApprovalRequested):
            return
        if not sys.stdin.isatty():
            self._approvals.decide(event.body.approval_id, "refused", _NO_TERMINAL)
            print_message(
                f"Refused: {event.body.agent} wants to call {event.body.tool}, and there is no terminal to ask on. "
                "Use `candor serve` to decide such calls."
            )
            return
        # A daemon thread instead of the event loop's pool. Otherwise Ctrl-C would wait for the pool, and the pool for
        # the user.
        threading.Thread(target=self._prompt, args=(event.body,), daemon=True).start()

    def _prompt(self, requested: ApprovalRequested) -> None:
        with self._prompt_lock:
            # The user approves the arguments. The reason is text of the model, so it is one line in quotation marks.
            print_message(
                f"\n{requested.agent} wants to call {requested.tool} with {format_arguments(requested.arguments)}"
            )
            print_message(f"  The model's reason: “{' '.join(requested.reason.split())}”")
            while not self._decide(requested):
                pass

    def _decide(self, requested: ApprovalRequested) -> bool:
        """Read one reply and apply it. Return False if the reply is invalid."""
        reply = _read("Allow? [y]es, [n]o, or changed arguments as JSON: ").strip()
        choice: Choice = "approved" if reply in ("y", "yes") else "refused" if reply in ("n", "no") else "edited"
        try:
            arguments = json.loads(reply) if choice == "edited" else None
            self._approvals.decide(requested.approval_id, choice, LOCAL_CALLER.name, arguments)
        except (ValueError, ToolError) as error:
            print_message(f"Invalid reply (expected y, n, or valid arguments): {error}")
            return False
        except ApprovalClosed as error:
            print_message(str(error))
        return True


def _read(question: str) -> str:
    """Read a line from the terminal. End of input counts as "no"."""
    print_message(question, end="")
    return sys.stdin.readline() or "no"
