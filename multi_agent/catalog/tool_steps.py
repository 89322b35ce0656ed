"""Tools as steps of a plan. Each agent calls one tool with the inputs of its step and uses no model.

The setting `research.plan_tools` lists the tools. In plans, traces and approvals, the agent has the name of its tool.
"""

from typing import Any, ClassVar, Self, cast

from pydantic import Field

from multi_agent.agent import AgentCard, StepAgent, StepOutput
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.errors import StepError
from multi_agent.grounding.citations import cite
from multi_agent.prompts.show_passages import number_units
from multi_agent.tool import TOOL_NAME, ToolCard
from multi_agent.toolbox.granted_tool import OfferedTool
from multi_agent.values.context import ContextUpdate, Note, ResearchContext
from multi_agent.values.tasks import TaskData

_QUOTED = 12  # maximum sentences of a quoted result; agents that read passages quote longer results
_WHY = "A step of the plan."


class ToolStepCard(AgentCard):
    """The card of a tool as a step, with the name of the tool."""

    name: str = Field(pattern=TOOL_NAME)

    @property
    def abilities(self) -> str:
        return ""


class ToolStepOutput(StepOutput):
    """The output of a tool for later steps."""

    text: str = Field(description="the result as text")
    file: str = Field(description="name of the file that it wrote; empty if it wrote none")

    @classmethod
    def of(cls, update: ContextUpdate) -> Self:
        texts = [*(note.text for note in update.notes), *(chunk.text for chunk in update.chunks)]
        return cls(text="\n\n".join(texts), file=next((note.file for note in update.notes), ""))

    @property
    def why_empty(self) -> str:
        return "gave none."


class ToolStep(StepAgent):
    """Calls its tool once. Each tool has a subclass."""

    card: ClassVar[AgentCard]

    async def should_activate(self, context: ResearchContext) -> bool:
        return bool(self.card.tools)

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        tool = await self._tool()
        given = tool.card.inputs.model_validate(task.inputs.model_dump(mode="json", by_alias=True))
        result = await tool(given, task.instruction or _WHY)
        self._reasoning = f"Called {self.card.name}, as the plan says."
        if result.file or not result.passages:
            return ContextUpdate(notes=(Note(agent=self.card.name, text=result.text, file=result.file),))
        units = number_units(result.passages)
        quotes = cite((unit.number for unit in units), units).evidence if len(units) <= _QUOTED else ()
        return ContextUpdate(chunks=result.passages, evidence=quotes)

    async def _tool(self) -> OfferedTool:
        """Return the tool. Raises StepError if it is unavailable."""
        offered = await self._kit.tools()
        if not offered.tools:
            raise StepError(f"The tool cannot be used: {' '.join(offered.unavailable)}")
        return offered.tools[0]


def tool_step(tool: ToolCard) -> RegisteredAgent:
    """Return the agent that calls this tool."""
    card = ToolStepCard(
        name=tool.name,
        description=f"A tool, called without a model. {tool.description}",
        writes=frozenset({"chunks", "evidence", "notes"}),
        inputs=tool.inputs,
        outputs=ToolStepOutput,
        tools=(tool.name,),
    )
    make = type(tool.name, (ToolStep,), {"card": card})
    return RegisteredAgent(card=card, make=cast(Any, make), prompt=None)
