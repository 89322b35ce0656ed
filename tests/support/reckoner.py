"""An agent that answers "What is 17 % of 2340?" with the calculator, and a scripted model for it.

candor.agent_catalog.add(RECKONER)
with ScriptedEndpoint(reckoning()) as endpoint: …
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from multi_agent.catalog.entries import CustomAgent
from support.handyman import TURN, calls, done
from support.panel import READING, TRIAGE, Panel, role_of, triage
from support.replies import Reply, Request

QUESTION = "What is 17 % of 2340?"
CLAIM = "17 % of 2340 is 397.8."
RECKONER = CustomAgent(
    name="Reckoner",
    description="Calculates.",
    prompt="# System\nYou calculate with your tools.\n# User\n$question\n",
    tools=("calculator",),
)


def found(*claims: tuple[str, list[int]], short: str = "", **more: Any) -> str:
    """Return an answer of an agent with tools. Each claim has a text and its sentence numbers."""
    written = [{"sentences": sentences, "text": text} for text, sentences in claims]
    return json.dumps({"short": short, "claims": written, "missing": "", "sufficient": True, "layout": "prose", **more})


def reckoning(
    result: str = found((CLAIM, [1]), short="397.8"),
    call: tuple[str, dict[str, Any]] = ("calculator", {"expression": "2340 * 0.17"}),
) -> Callable[[Request], Reply | str]:
    """Return a model that makes one call and then reports ``result``. Triage sends questions to the Reckoner."""
    panel = Panel()

    def respond(request: Request) -> Reply | str:
        role = role_of(request)
        if role == TURN:
            return done() if any(message["role"] == "assistant" for message in request.messages) else calls(call)
        if role == READING:
            return result
        return json.dumps(triage(request, agent="Reckoner")) if role == TRIAGE else panel(request)

    return respond
