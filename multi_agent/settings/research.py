"""Settings of a run. The defaults are for a laptop with a small local model. Raise them for larger models."""

from typing import Annotated, ClassVar, Literal, Self

from pydantic import Field, PrivateAttr

from vectorstore.settings import RerankSettings, SettingsGroup

Source = Literal["documents", "web", "tools"]
"""The kinds of sources for an answer: documents of the collection, web pages and downloads, other tool results."""

SUPERVISORS = ("Conversation", "Triage", "Planner", "Explainer", "Consensus")
"""The parts of the supervisor that call a model, by their names in traces and `agent_models`."""


_WINDOW_SHARE = 6  # passages use a sixth of the window (about ten passages by default), as small models read slowly
_MOST_PASSAGE_TOKENS = 16_000  # maximum tokens of passages per call
_TOKENS_PER_PICTURE = 8_192  # tokens of the window for each picture, which itself uses up to 1,800
_MOST_PICTURES = 4  # maximum pictures per call
_TOKENS_PER_FOUND_PASSAGE = 270  # approximate size of a passage of English prose


class Budget(SettingsGroup):
    """The limits of a run. None means unlimited. Checked before each model call."""

    model_calls: int | None = Field(default=None, ge=1, description="maximum requests to models, including retries")
    tokens: int | None = Field(default=None, ge=1, description="maximum tokens of prompts and responses together")
    seconds: float | None = Field(default=None, gt=0, description="maximum seconds since the start of the run")
    cost: float | None = Field(default=None, gt=0, description="maximum cost, by the prices in the endpoint's settings")


class ResearchSettings(SettingsGroup):
    """The amounts that a run reads, its retries and its agents."""

    renamed: ClassVar[dict[str, str]] = {
        "call_tokens": "tokens_per_call",
        "plan_reasks": "plan_retries",
        "sql_reasks": "sql_retries",
    }
    constants: ClassVar[tuple[str, ...]] = (
        "sample_passages", "catalogue_limit", "plan_retries", "step_retries", "records_shown", "sql_rows",
        "sql_seconds", "sql_retries",
    )  # fmt: skip
    sample_passages: ClassVar[int] = 6
    """Passages that the DataInspector reads."""
    catalogue_limit: ClassVar[int] = 15
    """Documents listed for triage and planner. A larger collection lists the documents of the best passages."""
    plan_retries: ClassVar[int] = 2
    """Number of times the model may correct an invalid plan."""
    step_retries: ClassVar[int] = 1
    """Retries of a step after a transient error."""
    records_shown: ClassVar[int] = 30
    """Records shown to the Analyst before it writes SQL."""
    sql_rows: ClassVar[int] = 100
    """Maximum rows in the result of a computation."""
    sql_seconds: ClassVar[float] = 5
    """Maximum seconds of a query over the records."""
    sql_retries: ClassVar[int] = 2
    """Number of times the model may correct an invalid query."""

    agent_packages: tuple[str, ...] = Field(
        default=(), description="additional Python packages with agent modules; their prompts are in the folder "
        "`prompts` next to the package")  # fmt: skip
    passages: int = Field(
        default=24, ge=1, description="passages that a search returns to the agents, for all queries together"
    )
    passages_per_call: int = Field(default=12, ge=1, description="maximum passages per call of the Extractor")
    tokens_per_call: int = Field(default=2730, ge=200, description="maximum tokens of passages per call, and "
        "half more for a row of a table; by default a sixth of the model's context window, at most 16,000")  # fmt: skip
    planner_tokens: int = Field(default=11_059, ge=1, description="tokens that a prompt of the planner should have at "
        "most, or it shows no examples, fewer documents and agents; by default 90 % of what `max_output_tokens` leaves "
        "of its model's context window")  # fmt: skip
    scan_limit: int = Field(default=2000, ge=1, description="maximum chunks of a scan; a larger scan is an error")
    step_timeout_s: float = Field(default=900, gt=0, description="maximum seconds of one step")
    max_revisions: int = Field(default=2, ge=0, description="maximum revisions of a plan if something is missing")
    samples: int = Field(default=1, ge=1, le=32, description="number of times the final answer is written, for a vote")
    reader_passages: int = Field(default=10, ge=1, description="passages that the Reader finds per question; by "
        "default, one for each 270 of `tokens_per_call`")  # fmt: skip
    pictures_per_call: int = Field(default=2, ge=0, le=8, description="pictures of pages that the Reader sends with "
        "their text, if the model supports pictures (`vision` of its endpoint); by default, one for each 8,192 "
        "tokens of the model's context window, at most 4")  # fmt: skip
    check_claims: Literal["auto"] | bool = Field(default="auto", description="compare claims with their quotes by a "
        "model call, too, which decides on those that rules leave open; `auto`: if the model passed the test of "
        "`candor doctor`")  # fmt: skip
    plan_examples: int = Field(
        default=2, ge=0, description="plans that worked on similar questions, shown to the planner"
    )
    remember_plans: bool = Field(default=True, description="store plans and tool use that led to an answer as examples")
    disabled_agents: tuple[str, ...] = Field(default=(), description="agents that no plan may use")
    agent_models: dict[str, str] = Field(
        default={}, description="named endpoints (`[llms.NAME]`) by agent, or by `Conversation`, "
        "`Triage`, `Planner`, `Explainer` and `Consensus`, the parts of the supervisor")  # fmt: skip
    sources: tuple[Source, ...] = Field(default=("documents",), min_length=1, description="sources of answers, "
        "unless the question selects others: documents, web, tools")  # fmt: skip
    agent_weights: dict[str, Annotated[float, Field(ge=0, le=1000)]] = Field(
        default={}, description="weights of votes by agent, including built-in agents; 1 by default"
    )
    plan_tools: tuple[str, ...] = Field(default=(), description="tools that a plan may call as a step, such as "
        "`download_file`, or `SERVER.TOOL` of an MCP server; dangerous ones still need approval")  # fmt: skip
    reactions: bool = Field(default=True, description="let agents react to reports of others, with a second search for "
        "missing information or a second reading after a rejected quote")  # fmt: skip
    budget: Budget = Budget()
    rerank: RerankSettings = RerankSettings()
    _derived: frozenset[str] = PrivateAttr(default=frozenset())

    @property
    def tokens_per_row(self) -> int:
        """The maximum tokens of passages of a call that fills cells of a row.

        A row asks several questions, so a call holds half more for it than for one question: cells of ten quarterly
        reports whose passage was offered within two readings rose from 27 to 37 of 40.
        """
        return self.tokens_per_call * 3 // 2

    def for_window(self, context_window: int, planner_room: int) -> Self:
        """Return a copy that derives the unset limits per call from the model's context window, in tokens.

        ``planner_room`` is what the window of the planner's model leaves for a prompt. Corrections lengthen the prompt.
        """
        given = self.model_fields_set - self._derived
        tokens = max(200, min(context_window // _WINDOW_SHARE, _MOST_PASSAGE_TOKENS))
        tokens = self.tokens_per_call if "tokens_per_call" in given else tokens
        derived = {
            "tokens_per_call": tokens,
            "planner_tokens": max(1, planner_room * 9 // 10),
            "reader_passages": max(1, tokens // _TOKENS_PER_FOUND_PASSAGE),
            "pictures_per_call": max(1, min(context_window // _TOKENS_PER_PICTURE, _MOST_PICTURES)),
        }
        copy = self.model_copy(update={name: value for name, value in derived.items() if name not in given})
        copy._derived = frozenset(derived.keys() - given)
        return copy
