"""The class of custom agents that give notes and have tools. The results of the tools become evidence."""

from __future__ import annotations

from multi_agent.agents.reader import Reader, ReaderInputs
from multi_agent.agents.tool_findings import find_with_tools
from multi_agent.catalog.notes_agent import render_prompt
from multi_agent.values.context import ContextUpdate, Note, ResearchContext, Synthesis
from multi_agent.values.tasks import TaskData

FINDINGS = frozenset({"chunks", "evidence", "findings", "notes"})
"""The context fields that the agent writes."""


class FindingsAgent(Reader):
    """Calls its tools and writes claims from their results. Claims without evidence become notes."""

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        kit, question = self._kit, task.instruction or context.question
        messages = render_prompt(kit, context, task.instruction)
        inputs = ReaderInputs(question=question, queries=())
        update = await find_with_tools(self, kit, await kit.tools(), messages, task, inputs, needs_tools=False)
        synthesis = update.findings[0].synthesis
        self._reasoning = f"{question} {synthesis.short} {synthesis.found} {synthesis.reasoning}"
        return update.model_copy(update={"notes": self._notes(synthesis)})

    def _notes(self, synthesis: Synthesis) -> tuple[Note, ...]:
        unsupported = (claim.text for claim in synthesis.claims if not claim.stands)
        return tuple(Note(agent=self.card.name, text=text) for text in unsupported)
