"""Settings of a run. Numbers are what a laptop with a small local model can do; raise them for larger ones."""

from __future__ import annotations

from typing import ClassVar

from pydantic import Field

from vectorstore.settings import SettingsGroup

SUPERVISORS = ("Planner", "Explainer", "Consensus")
"""The supervisor's own callers of a model, as traces and `agent_models` name them."""


class Budget(SettingsGroup):
    """What a run may spend; None is without limit. Checked before each model call."""

    model_calls: int | None = Field(default=None, ge=1)
    tokens: int | None = Field(default=None, ge=1, description="of prompts and responses together")
    seconds: float | None = Field(default=None, gt=0, description="since the run started")
    cost: float | None = Field(default=None, gt=0, description="by the prices of the endpoint's settings")


class ResearchSettings(SettingsGroup):
    """How much a run reads and how often it asks again."""

    renamed: ClassVar[dict[str, str]] = {
        "call_tokens": "tokens_per_call",
        "plan_reasks": "plan_retries",
        "sql_reasks": "sql_retries",
    }

    agent_packages: tuple[str, ...] = Field(
        default=(), description="further Python packages whose modules hold agents; their prompts lie in the folder "
        "`prompts` beside the package")  # fmt: skip
    passages: int = Field(default=24, ge=1, description="passages that a search hands to the agents, over all queries")
    passages_per_call: int = Field(
        default=12, ge=1, description="passages that one call of the Extractor reads at most"
    )
    tokens_per_call: int = Field(default=4000, ge=200, description="tokens of passages that one call reads at most")
    sample_passages: int = Field(default=6, ge=1, description="passages that the DataInspector looks at")
    scan_limit: int = Field(default=2000, ge=1, description="chunks that a scan reads at most; more is an error")
    catalogue_limit: int = Field(default=60, ge=0, description="documents that the planner is shown by name at "
        "most; of more, those of as many passages that a search for the question finds")  # fmt: skip
    plan_retries: int = Field(default=2, ge=0, description="how often a plan with faults is given back to the model")
    step_timeout_s: float = Field(default=900, gt=0, description="seconds that one agent's turn may take")
    step_retries: int = Field(default=1, ge=0, description="how often a step is repeated after a transient error")
    max_revisions: int = Field(default=2, ge=0, description="how often a plan is revised when something is missing")
    samples: int = Field(default=1, ge=1, le=32, description="how often the final answer is written, to take a vote")
    reader_passages: int = Field(default=10, ge=1, description="passages that the Reader answers a question from")
    records_shown: int = Field(default=30, ge=1, description="records that the Analyst sees before it writes SQL")
    sql_rows: int = Field(default=100, ge=1, description="rows of a computation's result that are kept")
    sql_seconds: float = Field(default=5, gt=0, description="seconds that a query over the records may take")
    sql_retries: int = Field(default=2, ge=0, description="how often a query with a fault is given back to the model")
    plan_examples: int = Field(
        default=2, ge=0, description="plans that worked on similar questions, shown to the planner"
    )
    remember_plans: bool = Field(default=True, description="whether plans that led to an answer are kept as examples")
    disabled_agents: tuple[str, ...] = Field(default=(), description="agents that no plan may use")
    agent_models: dict[str, str] = Field(
        default={}, description="named endpoints (`[llms.NAME]`) by the agent that asks them; also by `Planner`, "
        "`Explainer` and `Consensus`, which are the supervisor's")  # fmt: skip
    budget: Budget = Budget()
