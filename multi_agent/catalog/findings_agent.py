"""The behaviour of custom agents that give notes and have tools: what the tools return becomes evidence."""

from __future__ import annotations

from multi_agent.agents.reader import Reader, ReaderInputs
from multi_agent.catalog.notes_agent import render_prompt
from multi_agent.context import ContextUpdate, Finding, Note, ResearchContext, Synthesis
from multi_agent.grounding.pictures import PagePictures
from multi_agent.tasks import TaskData
from multi_agent.toolbox.loop import ToolLoop

FINDINGS = frozenset({"chunks", "evidence", "findings", "notes"})
"""The context fields that the agent writes."""


class FindingsAgent(Reader):
    """Works with its tools and claims what they returned. Claims without evidence become notes."""

    async def process(self, context: ResearchContext, task: TaskData) -> ContextUpdate:
        kit, question = self._kit, task.instruction or context.question
        use = await ToolLoop(kit.llm, await kit.tools()).run(render_prompt(kit, context, task.instruction))
        inputs = ReaderInputs(question=question, queries=())
        synthesis = await self.write(use, PagePictures(), task, inputs)
        self._reasoning = f"{question} {synthesis.short} {synthesis.found} {synthesis.reasoning}"
        return ContextUpdate(
            chunks=use.passages,
            evidence=synthesis.evidence,
            findings=(Finding(step=task.step, question=question, synthesis=synthesis),),
            notes=self._notes(synthesis),
        )

    def _notes(self, synthesis: Synthesis) -> tuple[Note, ...]:
        unsupported = (claim.text for claim in synthesis.claims if not claim.supported)
        return tuple(Note(agent=self.card.name, text=text) for text in unsupported)
