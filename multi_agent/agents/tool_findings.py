"""Answers a question from tool results. Runs the tool loop, then writes an answer with checked quotes."""

from collections.abc import Sequence

from multi_agent.agent import AgentKit
from multi_agent.agents.reader import Reader, ReaderInputs
from multi_agent.errors import AgentError
from multi_agent.grounding.pictures import PagePictures
from multi_agent.model import Message
from multi_agent.toolbox.granted_tool import OfferedTools
from multi_agent.toolbox.loop import ToolLoop
from multi_agent.values.context import ContextUpdate, Finding
from multi_agent.values.tasks import TaskData


async def find_with_tools(
    reader: Reader, kit: AgentKit, offered: OfferedTools, messages: Sequence[Message], task: TaskData,
    inputs: ReaderInputs, *, needs_tools: bool = True,
) -> ContextUpdate:  # fmt: skip
    """Return the finding and its evidence.

    Raises AgentError if ``needs_tools`` is set, the agent read nothing and a tool is unavailable.
    """
    use = await ToolLoop(kit.llm, offered).run(messages)
    if needs_tools and not use.passages and offered.unavailable:
        raise AgentError(f"{reader.card.name} read nothing. {' '.join(offered.unavailable)}")
    synthesis = await reader.write(use, PagePictures(), task, inputs)
    return ContextUpdate(
        chunks=use.passages,
        evidence=synthesis.evidence,
        findings=(Finding(step=task.step, synthesis=synthesis, **inputs.model_dump()),),
    )
