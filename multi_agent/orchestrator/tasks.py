"""The shared context of a run, and the tasks of its steps."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import count
from typing import Any

from multi_agent.agent import DOCUMENTS, AgentCard, StepOutput
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import ContextViolation, ReferenceFailed
from multi_agent.orchestrator.planning.validation import input_faults, own_inputs, resolve
from multi_agent.prompt import Prompt
from multi_agent.settings.research import Source
from multi_agent.values.context import AgentMessage, ContextUpdate, ResearchContext
from multi_agent.values.context_merge import admit, merge
from multi_agent.values.plan import Step
from multi_agent.values.request import Fork
from multi_agent.values.sources import source_of
from multi_agent.values.tasks import SubTask, TaskStorage, Wake, task_data_type


class SharedContext:
    """Stores the latest ResearchContext and replaces it with every update.

    ``read_before`` contains the ids of the passages in the context when the attempt began, and ``said`` the messages of
    agents since then.
    """

    def __init__(
        self, context: ResearchContext, sources: tuple[Source, ...] = ("documents",), fork: Fork | None = None
    ) -> None:
        self.current = context
        self._sources, self._fork = sources, fork
        self.read_before: frozenset[str] = frozenset()
        self.said: tuple[AgentMessage, ...] = ()

    def merge(self, update: ContextUpdate, card: AgentCard) -> None:
        """Apply an agent's update.

        Raises ContextViolation for a field that the card does not declare, and for evidence of a kind that this run
        does not allow.
        """
        self._require_allowed(update, card)
        self.current = merge(self.current, update, agent=card.name, writes=card.writes)

    def _require_allowed(self, update: ContextUpdate, card: AgentCard) -> None:
        answers = [each for each in (update.synthesis, *(found.synthesis for found in update.findings)) if each]
        evidence = [*update.evidence, *(item for each in answers for item in each.evidence)]
        if refused := {source_of(item.origin) for item in evidence} - {*self._sources}:
            raise ContextViolation(
                f"Agent {card.name!r} cites {', '.join(sorted(refused))}, but this run may only use "
                f"{', '.join(self._sources)} (`--sources`)."
            )

    def add_messages(self, messages: Iterable[AgentMessage]) -> None:
        new = tuple(messages)
        self.said += new
        self.current = self.current.model_copy(update={"messages": (*self.current.messages, *new)})

    def begin_step(self, step: str) -> None:
        """Drop the evidence that a fork does not admit, when its step begins."""
        if (fork := self._fork) and fork.step == step:
            self._fork = None
            if fork.evidence is not None:
                self.current = admit(self.current, fork.evidence)

    def begin_attempt(self) -> None:
        """Drop the answer and the messages of the earlier attempt, and store the ids of its passages."""
        self.said = ()
        self.read_before = frozenset(chunk.id for chunk in self.current.chunks)
        self.current = self.current.model_copy(update={"synthesis": None})


class StepTasks:
    """Creates the tasks of one run, numbered in order."""

    def __init__(
        self,
        run_id: str,
        registry: AgentRegistry,
        storage: TaskStorage,
        documents: Sequence[str],
        question: str,
    ) -> None:
        self._run_id, self._registry, self._storage = run_id, registry, storage
        self._documents, self._question = documents, question
        self._numbers = count(1)

    def for_step(
        self,
        step: Step,
        needs: Collection[str],
        outputs: Mapping[str, StepOutput],
        failed: Collection[str],
        *,
        samples: int,
        streams_claims: bool,
    ) -> list[SubTask]:
        """Create a task for each agent of the step and each sample. ``needs`` are the steps that it may refer to.

        Raises ReferenceFailed or NothingFound if the step cannot be started.
        """
        if broken := sorted({*needs} & {*failed}):
            raise ReferenceFailed(f"It needs {', '.join(broken)}, which failed.")
        instruction, inputs = resolve(step.task, outputs, needs)
        cards = [self._registry.get(agent).card for agent in step.agents]
        own = {card.name: own_inputs(card, cards, inputs) for card in cards}
        for card in cards:
            if faults := list(input_faults(card, own[card.name], {DOCUMENTS: self._documents})):
                raise ReferenceFailed(f"Its inputs do not fit {card.name}: {' '.join(faults)}")
        return [
            self._task(
                step.id, card, instruction, own[card.name],
                sample=sample if samples > 1 else None, streams_claims=streams_claims,
            )
            for sample in range(samples)
            for card in cards
        ]  # fmt: skip

    def for_reaction(self, step: str, agent: str, wake: Wake) -> SubTask:
        """Create the task of a woken agent. Its inputs are the same as for a directly asked agent."""
        card = self._registry.get(agent).card
        inputs = card.asked(self._question).model_dump(mode="json") if card.asked else {}
        return self._task(step, card, Prompt.part("react"), inputs, wake=wake)

    def delete_all(self) -> None:
        """Delete the task data of the run."""
        self._storage.delete_run(self._run_id)

    def _task(
        self,
        step: str,
        card: AgentCard,
        instruction: str,
        inputs: dict[str, Any],
        *,
        sample: int | None = None,
        streams_claims: bool = False,
        wake: Wake | None = None,
    ) -> SubTask:
        """Store the task data and return a message with its id."""
        task = task_data_type(card.name, card.inputs)(
            task_id=f"{self._run_id}_{step}_{next(self._numbers)}",
            run_id=self._run_id,
            step=step,
            agent=card.name,
            instruction=instruction,
            sample=sample,
            streams_claims=streams_claims,
            wake=wake,
            inputs=card.inputs.model_validate(inputs),
        )
        self._storage.store(task)
        return SubTask(
            sub_task_id=task.task_id,
            parent_task_id=self._run_id,
            assigned_agent_role=card.name,
            tools=card.tools,
        )
