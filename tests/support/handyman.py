"""An agent that makes the tool calls the model requests and notes the model's report.

panel.registry.register(handyman("calculator", "search_documents"))
answer = await panel.research(TASK)

The scripted model responds with ``calls(…)`` in each round, then ``done()``, then ``report(…)``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.grounding.citations import cite, publish_unknown
from multi_agent.model import Message
from multi_agent.prompts.show_passages import number_units
from multi_agent.toolbox.loop import ToolLoop
from multi_agent.values.context import ContextUpdate, Note, ResearchContext
from multi_agent.values.request import Request
from multi_agent.values.tasks import TaskData
from support.panel import role_of
from support.replies import Reply
from support.replies import Request as ModelRequest

TASK = Request(question="How cold may it get?", mode="direct", agent="Handyman", sources=("documents", "web", "tools"))
TURN, REPORT = "ToolTurn", "Report"


class Report(BaseModel):
    """The handyman's final response."""

    text: str
    sentences: list[int] = []


def handyman(*tools: str) -> RegisteredAgent:
    """Return the agent with these tools."""
    granted = AgentCard(
        name="Handyman",
        description="Does what its tools can do.",
        writes=frozenset({"notes", "evidence", "chunks"}),
        tools=tools,
    )

    class Handyman:
        card = granted

        def __init__(self, kit: AgentKit) -> None:
            self._kit = kit

        async def should_activate(self, context: ResearchContext) -> bool:
            return True

        async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
            opening = [Message.system("You do what is asked."), Message.user(context.question)]
            use = await ToolLoop(self._kit.llm, await self._kit.tools()).run(opening)
            done = (await self._kit.llm.complete([*use.messages, Message.user("Report.")], Report)).value
            units = number_units(use.passages)
            cited = cite(done.sentences, units)
            await publish_unknown(cited.unknown, units, self._kit.publish, self.card.name)
            return ContextUpdate(
                notes=(Note(agent="Handyman", text=done.text),),
                evidence=cited.evidence,
                chunks=use.passages,
            )

        def explain_reasoning(self) -> str:
            return "It was done."

    return RegisteredAgent(card=granted, make=Handyman, prompt=None)


def calls(*wanted: tuple[str, dict[str, Any]]) -> str:
    """Return a response that calls these tools."""
    named = [{"tool": tool, "arguments": arguments, "why": "It helps."} for tool, arguments in wanted]
    return json.dumps({"thinking": "Let me see.", "calls": named})


def done() -> str:
    """Return a response without further calls."""
    return calls()


def report(text: str, *sentences: int) -> str:
    """Return a report that cites these sentences."""
    return json.dumps({"text": text, "sentences": sentences})


def rounds(*turns: str, last: str) -> Callable[[ModelRequest], Reply | str]:
    """Return a model that responds with these turns in order, then with ``done()``, and with ``last`` as its report."""

    def respond(request: ModelRequest) -> str:
        if role_of(request) == REPORT:
            return last
        taken = sum(message["role"] == "assistant" for message in request.messages)
        return turns[taken] if taken < len(turns) else done()

    return respond


class Terminal(io.StringIO):
    """A replacement for ``sys.stdin`` with typed answers to the approval prompts of ``candor ask``."""

    def isatty(self) -> bool:
        return True
