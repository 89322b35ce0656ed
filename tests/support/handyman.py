"""An agent that works with whatever tools it is granted: it calls what the model says, and notes the model's report.

panel.registry.register(handyman("calculator", "search_documents"))
answer = await panel.research(TASK)

The model's side is ``calls(…)`` for each round, ``done()``, and ``report(…)``.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.context import ContextUpdate, Note, ResearchContext
from multi_agent.grounding.citations import Quoted, publish_rejected, verify_quotes
from multi_agent.llm.llm import Message
from multi_agent.request import Request
from multi_agent.tasks import TaskData
from multi_agent.toolbox.loop import ToolLoop
from support.panel import role_of
from support.scripted_endpoint import Reply
from support.scripted_endpoint import Request as ModelRequest

TASK = Request(question="How cold may it get?", mode="direct", agent="Handyman")
TURN, REPORT = "ToolTurn", "Report"


class Report(BaseModel):
    """What the handyman ends with."""

    text: str
    quotes: list[Quoted] = []


def handyman(*tools: str) -> RegisteredAgent:
    """The agent, granted these tools."""
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
            located, rejected = verify_quotes(done.quotes, use.passages)
            await publish_rejected(rejected, use.passages, self._kit.publish, "It is not there.", final=True)
            return ContextUpdate(
                notes=(Note(agent="Handyman", text=done.text),),
                evidence=tuple(each.evidence for each in located),
                chunks=use.passages,
            )

        def explain_reasoning(self) -> str:
            return "It was done."

    return RegisteredAgent(card=granted, make=Handyman, prompt=None)


def calls(*wanted: tuple[str, dict[str, Any]]) -> str:
    """A round in which these tools are called."""
    named = [{"tool": tool, "arguments": arguments, "why": "It helps."} for tool, arguments in wanted]
    return json.dumps({"thinking": "Let me see.", "calls": named})


def done() -> str:
    """The round after which nothing more is needed."""
    return calls()


def report(text: str, *quotes: tuple[int, str]) -> str:
    """What is made of it."""
    quoted = [{"passage": number, "quote": quote, "shows": "it"} for number, quote in quotes]
    return json.dumps({"text": text, "quotes": quoted})


def rounds(*turns: str, last: str) -> Callable[[ModelRequest], Reply | str]:
    """A model that takes these turns, one for each time that it was shown results, and reports in the end."""

    def respond(request: ModelRequest) -> str:
        if role_of(request) == REPORT:
            return last
        taken = sum(message["role"] == "assistant" for message in request.messages)
        return turns[taken] if taken < len(turns) else done()

    return respond


class Terminal(io.StringIO):
    """What a person types where ``candor ask`` asks for approval; put it in the place of ``sys.stdin``."""

    def isatty(self) -> bool:
        return True
