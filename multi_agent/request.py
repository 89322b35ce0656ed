"""A research request: the question and how to research it."""

from __future__ import annotations

from datetime import date
from typing import Literal

from pydantic import Field

from multi_agent.errors import AgentError
from multi_agent.remembered import EXCHANGES, Exchange
from multi_agent.settings import Budget
from vectorstore.models import FrozenModel

LONGEST = 20_000
"""Maximum characters of a question or query. Anything longer belongs into the collection as a document."""


Source = Literal["documents", "web", "tools"]
"""What an answer may rest on: documents of the collection, web pages and downloads, results of other tools."""


class Request(FrozenModel):
    """A question with its options. In mode ``auto`` triage chooses between ``fast`` and ``high``."""

    question: str
    mode: Literal["auto", "fast", "high", "direct"] = "auto"
    agent: str = Field(default="", description="in mode direct: the only agent that is asked")
    model: str = Field(default="", description="named model endpoint, for all agents without their own")
    session: str = Field(
        default="", max_length=100, description="name of a conversation; its earlier questions complete this one"
    )
    conversation: tuple[Exchange, ...] = Field(
        default=(),
        max_length=EXCHANGES,
        description="earlier questions and answers that the caller keeps itself, oldest first: they complete this one",
    )
    template: str = Field(default="", description="name of a saved plan to follow")
    today: date | None = Field(
        default=None, description="the day from which 'last year' is counted; by default the day the run starts"
    )
    samples: int | None = Field(default=None, ge=1, le=32, description="instead of `research.samples`")
    strict: bool = Field(default=False, description="leave out what only comes close to an answer")
    sources: tuple[Source, ...] = Field(
        default=("documents",), min_length=1, description="what the answer may rest on: documents, web, tools"
    )
    budget: Budget | None = Field(default=None, description="instead of `research.budget`")

    def validated(self) -> Request:
        """Strip the question. Raises AgentError for an empty or too long question, and for conflicting options."""
        if not self.question.strip():
            raise AgentError("The question is empty.")
        if len(self.question) > LONGEST:
            raise AgentError(
                f"The question has {len(self.question):,} characters; the maximum is {LONGEST:,}. Ingest long texts as "
                "a document and ask about that."
            )
        if (self.mode == "direct") != bool(self.agent):
            raise AgentError("Mode 'direct' needs an agent's name, and only this mode takes one.")
        if self.template and self.mode in ("fast", "direct"):
            raise AgentError(f"A saved plan runs in mode 'high', not in {self.mode!r}.")
        return self.model_copy(update={"question": self.question.strip()})
