"""The kits of steps. A kit contains the task, the agent's kit and the time limit of one attempt."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.orchestrator.planning.dependencies import RunDependencies
from multi_agent.orchestrator.run_models import RunModels
from multi_agent.orchestrator.shared_context import SharedContext
from multi_agent.orchestrator.steps.timeout import StepTimeout
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_heard import show_heard
from multi_agent.settings.research import Source
from multi_agent.toolbox.toolbox import RunTools
from multi_agent.values.bus import MessageBus
from multi_agent.values.context import AgentMessage, ContextUpdate
from multi_agent.values.listening import hears, message_of
from multi_agent.values.request import Fork
from multi_agent.values.tasks import SubTask, TaskData, TaskStorage


@dataclass(frozen=True)
class StepKit:
    """The task, the agent's kit and the time limit of one attempt of a step."""

    registered: RegisteredAgent
    task: TaskData
    agent_kit: AgentKit
    heard: tuple[AgentMessage, ...]
    timeout: StepTimeout
    _releases: tuple[Callable[[], None], ...]

    def release(self) -> None:
        """Allow the next attempt of this step to reuse the recorded responses of this attempt."""
        for release in self._releases:
            release()


class StepKits:
    """Creates the kits of all steps of one run."""

    def __init__(
        self,
        dependencies: RunDependencies,
        models: RunModels,
        tools: RunTools,
        bus: MessageBus,
        tasks: TaskStorage,
        shared: SharedContext,
        sources: tuple[Source, ...],
        show_practice: Callable[[Sequence[str]], str],
        fork: Fork | None = None,
    ) -> None:
        self._dependencies, self._models, self._tools = dependencies, models, tools
        self._sources, self._fork = sources, fork
        self._bus, self._tasks, self._shared = bus, tasks, shared
        self._show_practice = show_practice

    def kit_for(self, message: SubTask) -> StepKit:
        """Create a new kit for a task. Raises TaskAccessDenied if its data is deleted."""
        registered = self._dependencies.registry.get(message.assigned_agent_role)
        card = registered.card
        get_task_data = self._tasks.reader_for(card.name)
        task = get_task_data(message.sub_task_id)
        publish = partial(self._bus.publish, step=task.step)
        timeout = StepTimeout(self._dependencies.settings.step_timeout_s)
        tools = self._tools.for_step(card.name, message.tools, task.step, publish, timeout.paused)
        llm = self._models.for_step(card.name, publish, varied=task.sample is not None, step=task.step)

        heard = self._heard_by(card, task)

        async def keep(update: ContextUpdate) -> None:
            self._shared.merge(update, card)

        kit = AgentKit(
            llm=llm,
            library=self._dependencies.library,
            prompt=_with_heard(self._prompt_of(registered, task.step), heard),
            settings=self._dependencies.settings,
            publish=publish,
            keep=keep,
            get_task_data=get_task_data,
            read_before=self._shared.read_before,
            tools=tools.offered,
            sources=self._sources,
            wake=task.wake,
        )
        return StepKit(registered, task, kit, heard, timeout, (llm.release, tools.release))

    def _prompt_of(self, registered: RegisteredAgent, step: str) -> Prompt | None:
        """Return the agent's prompt, or the one of a fork for its step.

        If the agent's card reads memory, add notes on what worked for similar questions.
        """
        card, prompt = registered.card, registered.prompt
        if prompt and (fork := self._fork) and fork.step == step and card.name in fork.prompts:
            prompt = prompt.with_source(fork.prompts[card.name])
        practice = self._show_practice(card.tools) if card.reads_memory else ""
        return prompt.with_sections(practice) if prompt and practice else prompt

    def _heard_by(self, card: AgentCard, task: TaskData) -> tuple[AgentMessage, ...]:
        """Return the messages that woke the agent or, in a step of the plan, its messages of this attempt."""
        if task.wake:
            return tuple(message for event in task.wake.events if (message := message_of(event)))
        if not self._dependencies.settings.reactions:
            return ()
        said = (each for each in self._shared.said if each.sender != card.name)
        return tuple(each for each in said if hears(card.listens_to, card.name, each))


def _with_heard(prompt: Prompt | None, heard: Sequence[AgentMessage]) -> Prompt | None:
    return prompt.with_material(show_heard(heard)) if prompt and heard else prompt
