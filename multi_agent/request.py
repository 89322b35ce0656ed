"""What a person asks for: the question, and how it is to be researched."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from multi_agent.errors import AgentError
from multi_agent.settings import Budget
from vectorstore.models import FrozenModel

LONGEST = 20_000
"""Characters of a question, or of a query. What is longer is a document, and belongs into the collection."""


class Request(FrozenModel):
    """A question, with what was chosen for it. ``auto`` leaves the mode to the supervisor."""

    question: str
    mode: Literal["auto", "fast", "high", "direct"] = "auto"
    agent: str = Field(default="", description="in mode direct: the agent that is asked, alone")
    model: str = Field(
        default="", description="named endpoint that is asked, except by agents that have one of their own"
    )
    session: str = Field(
        default="", max_length=100, description="name of a conversation: its earlier questions are known to the planner"
    )
    template: str = Field(default="", description="name of a saved plan that is to be followed")
    samples: int | None = Field(default=None, ge=1, le=32, description="instead of `research.samples`")
    budget: Budget | None = Field(default=None, description="instead of `research.budget`")

    def validated(self) -> Request:
        """The request without white space around its question. Raises AgentError for what does not go together."""
        if not self.question.strip():
            raise AgentError("The question is empty; ask something.")
        if len(self.question) > LONGEST:
            raise AgentError(
                f"The question has {len(self.question):,} characters, and may have {LONGEST:,}: ingest what it is "
                "about as a document, and ask about that."
            )
        if (self.mode == "direct") != bool(self.agent):
            raise AgentError("Mode 'direct' asks one agent by name, and no other mode does: name the agent with it.")
        if self.template and self.mode in ("fast", "direct"):
            raise AgentError(f"A saved plan is followed in mode 'high', not in {self.mode!r}.")
        return self.model_copy(update={"question": self.question.strip()})
