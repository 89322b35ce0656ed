"""Settings of a run. Numbers are what a laptop with a small local model can do; raise them for larger ones."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class ResearchSettings(BaseModel):
    """How much a run reads and how often it asks again."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    agent_packages: tuple[str, ...] = Field(
        default=(), description="further Python packages whose modules hold agents; their prompts lie in the folder "
        "`prompts` beside the package")  # fmt: skip
    passages: int = Field(default=24, ge=1, description="passages that a search hands to the agents, over all queries")
    passages_per_call: int = Field(
        default=12, ge=1, description="passages that one call of the Extractor reads at most"
    )
    call_tokens: int = Field(default=4000, ge=200, description="tokens of passages that one call reads at most")
    sample_passages: int = Field(default=6, ge=1, description="passages that the DataInspector looks at")
    scan_limit: int = Field(default=2000, ge=1, description="chunks that a scan reads at most; more is an error")
    catalogue_limit: int = Field(default=60, ge=0, description="documents that the planner is shown by name at most")
    plan_reasks: int = Field(default=2, ge=0, description="how often a plan with faults is given back to the model")
    step_timeout_s: float = Field(default=900, gt=0, description="seconds that one agent's turn may take")
