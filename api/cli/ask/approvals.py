"""Approvals during ``candor ask``: prompt the person at the terminal. Without a terminal, refuse."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from api.auth.permissions import LOCAL_CALLER
from api.cli.common import print_message
from multi_agent.errors import ApprovalClosed, ToolError
from multi_agent.events import ApprovalRequested, Event
from multi_agent.toolbox.approvals import Approvals, Choice

_NO_TERMINAL = "candor ask, which has no terminal to ask on"  # stored with the decision


class TerminalApprovals:
    """Event subscriber that has dangerous tool calls approved, one at a time: pass ``listen`` to a run."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._prompt_lock = threading.Lock()

    async def listen(self, event: Event) -> None:
        """Decide an ApprovalRequested event; ignore all other events."""
        if not isinstance(event.body, ApprovalRequested):
            return
        if not sys.stdin.isatty():
            self._approvals.decide(event.body.approval_id, "refused", _NO_TERMINAL)
            print_message(
                f"Refused: {event.body.agent} wants to call {event.body.tool}, and there is no terminal to ask on. "
                "Use `candor serve` to decide such calls."
            )
            return
        # A daemon thread, not one of the event loop's pool: Ctrl-C would wait for the pool, which waits for the person.
        threading.Thread(target=self._prompt, args=(event.body,), daemon=True).start()

    def _prompt(self, requested: ApprovalRequested) -> None:
        with self._prompt_lock:
            # The arguments are what the person allows. The model wrote the reason: one line, marked as a quote.
            print_message(f"\n{requested.agent} wants to call {requested.tool} with {_json(requested.arguments)}")
            print_message(f"  The model's reason: “{' '.join(requested.reason.split())}”")
            while not self._decide(requested):
                pass

    def _decide(self, requested: ApprovalRequested) -> bool:
        """Read one reply and apply it. Return False if it is invalid and must be asked again."""
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


def _json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _read(question: str) -> str:
    """Read a line from the terminal. End of input counts as "no"."""
    print_message(question, end="")
    return sys.stdin.readline() or "no"
