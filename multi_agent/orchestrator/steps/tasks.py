"""Creates the tasks of steps. Resolves references, checks inputs, stores the task data and creates the messages."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import count
from typing import Any

from multi_agent.agent import DOCUMENTS, AgentCard, StepOutput
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import ReferenceFailed
from multi_agent.orchestrator.planning.references import resolve
from multi_agent.orchestrator.planning.validation import input_faults, own_inputs
from multi_agent.prompt import Prompt
from multi_agent.values.listening import Wake
from multi_agent.values.plan import Step
from multi_agent.values.tasks import SubTask, TaskStorage, task_data_type


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
