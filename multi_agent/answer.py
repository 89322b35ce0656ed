"""What a run returns: the answer with its claims, evidence and account of the search, or why there is none."""

from __future__ import annotations

from enum import StrEnum

from pydantic import Field

from multi_agent.context import Claim, Evidence, Synthesis
from multi_agent.llm.llm import Usage
from vectorstore.models import Scalar, Value


class Status(StrEnum):
    """Terminal states of a run."""

    ANSWERED = "answered"
    INSUFFICIENT = "insufficient"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Coverage(Value):
    """How much of the collection was read for this answer."""

    documents_considered: int = 0
    documents_total: int = 0
    chunks_considered: int = 0
    chunks_total: int = 0


class Quote(Value):
    """One item of evidence as it is given out: ``parsed_text[start:end] == quote``."""

    number: int
    document: str = Field(description="path of the document as ingested")
    document_id: str
    chunk_id: str
    pages: tuple[int, ...]
    start: int
    end: int
    quote: str

    @classmethod
    def of(cls, evidence: Evidence) -> Quote:
        """Without what only the agents need."""
        return cls(**evidence.model_dump(exclude={"name", "why"}))


class Answer(Value):
    """The result of a run; complete in every terminal state."""

    run_id: str
    status: Status
    mode: str
    question: str
    answer: str = Field(default="", description="text with [1] marks; empty if there is none")
    claims: tuple[Claim, ...] = ()
    evidence: tuple[Quote, ...] = ()
    records: tuple[dict[str, Scalar | None], ...] = ()
    confidence: float = Field(default=0.0, ge=0, le=1)
    reasoning: str = Field(default="", description="how the answer was reached, or why the run ended without one")
    looked_for: tuple[str, ...] = ()
    found: str = ""
    missing: tuple[str, ...] = ()
    coverage: Coverage = Coverage()
    usage: Usage = Usage()


def status_of(synthesis: Synthesis) -> Status:
    """Answered if the Synthesizer says that the evidence suffices and at least one claim stands on evidence."""
    supported = any(claim.supported for claim in synthesis.claims)
    return Status.ANSWERED if synthesis.sufficient and supported else Status.INSUFFICIENT
