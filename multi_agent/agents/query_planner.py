"""The QueryPlanner, which turns the question or a part of it into new search queries."""

from collections.abc import Sequence
from typing import ClassVar, Self

from pydantic import BaseModel, ConfigDict, Field

from base.models import FrozenModel
from multi_agent.agent import AgentCard, StepAgent, StepOutput
from multi_agent.errors import AgentError
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_passages import bullets
from multi_agent.values.answer import in_short
from multi_agent.values.context import ContextUpdate, Finding, ResearchContext
from multi_agent.values.tasks import TaskData

MOST = 6
"""Maximum queries of one step."""


class Queries(BaseModel):
    """The model's response."""

    model_config = ConfigDict(extra="forbid")

    queries: list[str] = Field(min_length=3, max_length=MOST, description="the search queries")
    reasoning: str = Field(description="why these wordings, in one or two sentences")


class QueryPlannerInputs(FrozenModel):
    """The inputs that a saved plan can set."""

    max_queries: int = Field(default=MOST, ge=1, le=MOST, description="maximum number of new queries")


class QueryPlannerOutput(StepOutput):
    """The output for later steps."""

    queries: tuple[str, ...] = Field(description="the search queries")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        return cls(queries=update.queries)


class QueryPlanner(StepAgent):
    """Rewords the question as documents might answer it."""

    card: ClassVar[AgentCard] = AgentCard(
        name="QueryPlanner",
        description="Turns the question, or the part of it that its instruction names, into new search queries.",
        capabilities=("query expansion", "search preparation"),
        reads=frozenset({"queries", "searched", "findings"}),
        writes=frozenset({"queries"}),
        inputs=QueryPlannerInputs,
        planned_inputs=False,
        outputs=QueryPlannerOutput,
        listens_to=frozenset({"missing_reported:DataInspector"}),
    )

    async def should_activate(self, context: ResearchContext) -> bool:
        """Return whether to react. Reacts once per attempt, and only after a search because a scan misses nothing."""
        wake = self._kit.wake
        return wake is None or (wake.earlier == 0 and bool(context.searched))

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = QueryPlannerInputs.model_validate(task.inputs.model_dump())
        before = tuple(dict.fromkeys((*(each.words for each in context.searched), *context.queries)))
        messages = self._kit.require_prompt().render(
            question=context.question,
            intent=context.understanding.intent,
            requirements=bullets(context.understanding.requirements),
            known=_show_known(before, context.findings),
            instruction=Prompt.part("queries_for_missing") if self._kit.wake else _instruction(task, inputs),
        )
        response = (await self._kit.llm.complete(messages, Queries)).value
        new = _new(response.queries, before)[: inputs.max_queries]
        if not new:
            raise AgentError("The model wrote only queries that were written before; they would find the same again.")
        self._reasoning = f"Searching for {'; '.join(new)}. {response.reasoning}"
        return ContextUpdate(queries=new)


def _new(queries: Sequence[str], before: Sequence[str]) -> tuple[str, ...]:
    """Drop known and repeated queries, ignoring case and whitespace."""
    known = {_folded(query) for query in before}
    new: dict[str, str] = {}
    for query in queries:
        if (folded := _folded(query)) not in known:
            new.setdefault(folded, query)
    return tuple(new.values())


def _instruction(task: TaskData, inputs: QueryPlannerInputs) -> str:
    limit = f" {Prompt.part('queries_limit', most=inputs.max_queries)}" if inputs.max_queries < MOST else ""
    return f"{task.instruction}{limit}"


def _folded(query: str) -> str:
    return " ".join(query.casefold().split())


def _show_known(queries: Sequence[str], findings: Sequence[Finding]) -> str:
    parts = []
    if findings:
        answers = [f"{each.question} {in_short(each.synthesis)}" for each in findings]
        parts.append(f"Found out so far:\n{bullets(answers)}\n")
    if queries:
        parts.append(f"Searched before, so write others:\n{bullets(queries)}\n")
    return "".join(f"\n{part}" for part in parts)
