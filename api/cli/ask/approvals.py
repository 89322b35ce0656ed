"""Approvals during ``candor ask``. Prompts the user at the terminal, or refuses if there is no terminal."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from api.auth.permissions import LOCAL_CALLER
from api.cli.common import print_message
from multi_agent.errors import ApprovalClosed, ToolError
from multi_agent.toolbox.approvals import Approvals, Choice
from multi_agent.values.events import ApprovalRequested, Event

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
            print_message(f"\n{requested.agent} wants to call {requested.tool} with {_json(requested.arguments)}")
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


def _json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _read(question: str) -> str:
    """Read a line from the terminal. End of input counts as "no"."""
    print_message(question, end="")
    return sys.stdin.readline() or "no"
