"""Approvals of ``candor ask``: the person at the terminal is asked; where there is no terminal, the answer is no."""

from __future__ import annotations

import json
import sys
import threading
from typing import Any

from api.auth.permissions import LOCAL_CALLER
from multi_agent.errors import ApprovalClosed, ToolError
from multi_agent.events import ApprovalRequested, Event
from multi_agent.toolbox.approvals import Approvals, Choice

_NOBODY = "candor ask, which has no terminal to ask on"


class TerminalApprovals:
    """Subscribe ``listen`` to a run. Several questions at once are put one after the other."""

    def __init__(self, approvals: Approvals) -> None:
        self._approvals = approvals
        self._asking = threading.Lock()

    async def listen(self, event: Event) -> None:
        """Have a dangerous call decided."""
        if not isinstance(event.body, ApprovalRequested):
            return
        if not sys.stdin.isatty():
            self._approvals.decide(event.body.approval_id, "refused", _NOBODY)
            _say(f"Refused: {event.body.agent} wants to call {event.body.tool}, and there is no terminal to ask on. "
                 "Ask over the service (`candor serve`) to decide.")  # fmt: skip
            return
        # Not a thread of the loop's own: Ctrl-C would wait for it, and it waits for a person.
        threading.Thread(target=self._ask, args=(event.body,), daemon=True).start()

    def _ask(self, wanted: ApprovalRequested) -> None:
        with self._asking:
            _say(f"\n{wanted.agent} wants to call {wanted.tool}: {wanted.reason}\n  {_json(wanted.arguments)}")
            while not self._decided(wanted):
                pass

    def _decided(self, wanted: ApprovalRequested) -> bool:
        """Whether the person's next answer settles it."""
        said = _read("Let it? [y]es, [n]o, or other arguments as JSON: ").strip()
        choice: Choice = "approved" if said in ("y", "yes") else "refused" if said in ("n", "no") else "edited"
        try:
            arguments = json.loads(said) if choice == "edited" else None
            self._approvals.decide(wanted.approval_id, choice, LOCAL_CALLER.name, arguments)
        except (ValueError, ToolError) as error:
            _say(f"That is neither y nor n nor fitting arguments: {error}")
            return False
        except ApprovalClosed as error:
            _say(str(error))
        return True


def _json(arguments: dict[str, Any]) -> str:
    return json.dumps(arguments, ensure_ascii=False)


def _read(question: str) -> str:
    """A line from the terminal; its end is a no."""
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline() or "no"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
