"""The Utility agent, which calculates numbers and dates and converts units with tools."""

from typing import ClassVar

from pydantic import Field

from base.models import FrozenModel
from multi_agent.agent import AgentCard
from multi_agent.agents.reader import Reader, ReaderInputs, ReaderOutput
from multi_agent.agents.tool_findings import find_with_tools
from multi_agent.grounding.written_answer import describe_answer
from multi_agent.prompts.show_task import show_task, show_today
from multi_agent.values.context import ContextUpdate, ResearchContext
from multi_agent.values.tasks import TaskData


class UtilityInputs(FrozenModel):
    """What the planner gives the Utility agent."""

    question: str = Field(
        min_length=1, description="what to calculate, with every figure and date; a reference to a step that finds one"
    )


class Utility(Reader):
    """Bases its answers on the results of its tools."""

    card: ClassVar[AgentCard] = AgentCard(
        name="Utility",
        description="Calculates, works with dates and converts units, from figures that its question contains. Reads "
        "nothing.",
        capabilities=("arithmetic", "dates", "units of measure"),
        writes=frozenset({"chunks", "evidence", "findings"}),
        instructed=False,
        inputs=UtilityInputs,
        asked=lambda question: UtilityInputs(question=question),
        outputs=ReaderOutput,
        tools=("calculator", "convert_units", "dates"),
        enabled=False,
    )

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        inputs = UtilityInputs.model_validate(task.inputs.model_dump())
        messages = self._kit.require_prompt().render(
            today=show_today(context), task=show_task(context, inputs.question, task.instruction)
        )
        asked = ReaderInputs(question=inputs.question, queries=())
        update = await find_with_tools(self, self._kit, await self._kit.tools(), messages, task, asked)
        self._reasoning = describe_answer(inputs.question, update.findings[0].synthesis)
        return update
