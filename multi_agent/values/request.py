"""A research request, which contains the question and its options."""

from __future__ import annotations

from datetime import date
from typing import Annotated, Literal

from pydantic import Field, JsonValue

from base.models import FrozenModel
from multi_agent.errors import AgentError
from multi_agent.settings.research import Budget, Source
from multi_agent.values.document_filter import DocumentFilter
from multi_agent.values.plan import Plan
from multi_agent.values.remembered import EXCHANGES, Exchange
from multi_agent.values.report import ReportOptions

LONGEST = 20_000
"""Maximum characters of a question or query. Longer texts belong in the collection as documents."""


MOST_RESULTS = 100
LONGEST_RESULT = 20_000
LONGEST_RESULTS = 400_000
"""Limits on given passages: their number, the characters of one, and the characters of all. Ingest longer texts."""


class RagResult(FrozenModel):
    """A passage that the caller already has, for example from a search elsewhere."""

    text: str = Field(min_length=1, description="the passage; quotes are verified in it")
    source: str = Field(min_length=1, max_length=2_000, description="name or URL of where it is from")
    document: str = Field(default="", max_length=1_000, description="name of its document, if not the source itself")
    page: int | None = Field(default=None, ge=1, description="page of the document")
    score: float | None = Field(default=None, description="the caller's own score; the order of the list decides")
    chunk_id: str = Field(
        default="", max_length=100, description="id of the chunk in the collection, if it is from there"
    )


class ForkChange(FrozenModel):
    """The first step of a run that runs again, and its changes."""

    step: str = Field(min_length=1, max_length=64, description="the first step that runs again")
    model: str = Field(default="", description="named model endpoint for the step")
    instruction: str | None = Field(default=None, max_length=LONGEST, description="another instruction for the step")
    inputs: dict[str, JsonValue] = Field(default={}, description="inputs of the step that get another value")
    prompts: dict[str, Annotated[str, Field(max_length=LONGEST)]] = Field(
        default={}, description="other texts for the prompts of the step's agents, by agent"
    )
    evidence: tuple[int, ...] | None = Field(
        default=None, description="numbers of the evidence that the step and later ones may use; null for all"
    )
    plan: Plan | None = Field(
        default=None, description="another plan; steps that ran before the step must be the same in it"
    )

    @property
    def summary(self) -> str:
        """The kinds of changes, such as "model large, another instruction"."""
        named = [f"model {self.model}"] if self.model else []
        named += ["another instruction"] if self.instruction is not None else []
        named += [f"other inputs ({', '.join(self.inputs)})"] if self.inputs else []
        named += [f"another prompt of {name}" for name in self.prompts]
        if self.evidence is not None:
            named.append(f"only evidence {', '.join(map(str, self.evidence))}" if self.evidence else "no evidence")
        named += ["another plan"] if self.plan else []
        return ", ".join(named) or "no change"


class Fork(ForkChange):
    """A run repeats another run up to a step, and goes on from there with a change."""

    run_id: str = Field(min_length=1, max_length=64, description="id of the run to repeat")


class Request(FrozenModel):
    """A question with its options. In mode ``auto``, triage chooses between ``fast`` and ``high``."""

    question: str
    mode: Literal["auto", "fast", "high", "direct"] = "auto"
    agent: str = Field(default="", description="the only agent that is asked (mode `direct`)")
    agents: tuple[str, ...] = Field(
        default=(), description="agents that are asked the same question (mode `direct`), or `@all` for all agents "
        "that can answer alone; a vote chooses among their answers")  # fmt: skip
    model: str = Field(default="", description="named model endpoint for all agents without their own")
    session: str = Field(
        default="", max_length=100, description="name of a conversation about a collection, which completes questions"
    )
    conversation: tuple[Exchange, ...] = Field(
        default=(),
        max_length=EXCHANGES,
        description="earlier questions and answers that complete this question, oldest first",
    )
    continues: str = Field(
        default="",
        max_length=64,
        description="id of an earlier run of the same collection, whose question, answer and conversation complete "
        "this question",
    )
    complete: bool = Field(
        default=False,
        description="whether the question is complete in itself, as that of a candidate of a run that asked back; the "
        "conversation then does not complete it",
    )
    template: str = Field(default="", description="name of a saved plan to follow")
    inputs: dict[str, str] = Field(
        default={}, description="values of the saved plan's parameters; a model finds the others in the question"
    )
    today: date | None = Field(
        default=None, description="date for terms such as 'last year'; by default, the day on which the run starts"
    )
    samples: int | None = Field(default=None, ge=1, le=32, description="instead of `research.samples`")
    strict: bool = Field(default=False, description="omit findings that only come close to an answer")
    sources: tuple[Source, ...] = Field(
        default=("documents",), min_length=1, description="sources of the answer, instead of `research.sources`"
    )
    filter: DocumentFilter | None = Field(
        default=None, description="filter for the documents that the run may read; null for all documents"
    )
    rag_results: tuple[RagResult, ...] = Field(
        default=(), description="passages of the caller, best first, which agents read before others"
    )
    search: bool = Field(default=True, description="search the collection in addition to `rag_results`")
    budget: Budget | None = Field(default=None, description="instead of `research.budget`")
    fork: Fork | None = Field(default=None, description="the run that this one repeats up to a step; null for none")
    report: ReportOptions | None = Field(
        default=None, description="write a report with a run for each section; null for an answer"
    )

    def validated(self) -> Request:
        """Strip the question. Raises AgentError for an empty or too long question, and for conflicting options.

        Also raises AgentError for given passages over the limits.
        """
        if not self.question.strip():
            raise AgentError("The question is empty.")
        if len(self.question) > LONGEST:
            raise AgentError(
                f"The question has {len(self.question):,} characters, but the maximum is {LONGEST:,}. Ingest long "
                "texts as a document and ask about that document."
            )
        if self.agent and self.agents:
            raise AgentError("Name one agent in `agent` or several in `agents`, not both.")
        if self.mode == "direct" and not (self.agent or self.agents):
            raise AgentError("Mode 'direct' needs an agent's name.")
        if self.mode != "direct" and (self.agent or self.agents):
            raise AgentError("Named agents are asked directly. Omit the mode or the names.")
        if self.template and self.mode in ("fast", "direct"):
            raise AgentError(f"A saved plan runs in mode 'high', not in {self.mode!r}.")
        if self.inputs and not self.template:
            raise AgentError("Inputs are values of a saved plan's parameters. Also name the saved plan.")
        if self.filter and "documents" not in self.sources:
            raise AgentError("`filter` selects documents of the collection. Add 'documents' to `sources`.")
        self._check_results()
        wanted = None if self.filter and self.filter.is_empty else self.filter
        return self.model_copy(update={"question": self.question.strip(), "filter": wanted})

    def _check_results(self) -> None:
        """Raise AgentError if there is nothing to read or given passages are not allowed, blank or over the limits."""
        if not self.search and not self.rag_results:
            raise AgentError("There is nothing to read, because `search` is false and `rag_results` is empty.")
        if self.rag_results and "documents" not in self.sources:
            raise AgentError("The passages of `rag_results` count as documents. Add 'documents' to `sources`.")
        if (count := len(self.rag_results)) > MOST_RESULTS:
            raise AgentError(
                f"`rag_results` has {count} passages, but the maximum is {MOST_RESULTS}. Send only the best ones, or "
                "ingest the documents."
            )
        for number, each in enumerate(self.rag_results, start=1):
            if not each.text.strip() or not each.source.strip():
                raise AgentError(f"Passage {number} of `rag_results` has a blank text or source. Set both.")
            if len(each.text) > LONGEST_RESULT:
                raise AgentError(
                    f"Passage {number} of `rag_results` has {len(each.text):,} characters, but the maximum is "
                    f"{LONGEST_RESULT:,}. Split it, or ingest its document."
                )
        if (size := sum(len(each.text) for each in self.rag_results)) > LONGEST_RESULTS:
            raise AgentError(
                f"`rag_results` has {size:,} characters in total, but the maximum is {LONGEST_RESULTS:,}. Send fewer "
                "passages, or ingest the documents."
            )
