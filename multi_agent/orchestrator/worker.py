"""The worker of a run, which runs an agent for each task with its kit and time limit, and returns the result."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from functools import partial

from multi_agent.agent import AgentCard, AgentKit
from multi_agent.catalog.registry import RegisteredAgent
from multi_agent.errors import (
    AgentError,
    BudgetReached,
    InvalidResponse,
    LLMError,
    LLMRateLimited,
    LLMTimeout,
    LLMUnavailable,
    LLMUnreachable,
    PromptTooLong,
    RunEnded,
    StepError,
)
from multi_agent.orchestrator.planning.dependencies import RunDependencies, RunModels
from multi_agent.orchestrator.tasks import SharedContext
from multi_agent.prompt import Prompt
from multi_agent.prompts.show_heard import show_heard
from multi_agent.toolbox.toolbox import RunTools
from multi_agent.values.bus import MessageBus
from multi_agent.values.context import AgentMessage, ContextUpdate
from multi_agent.values.context_merge import in_one
from multi_agent.values.events import StepFailed, StepRetried, StepSkipped, StepStarted, WokenBy
from multi_agent.values.request import Request
from multi_agent.values.tasks import (
    ErrorDetails,
    SubTask,
    TaskData,
    TaskOutput,
    TaskResult,
    TaskStorage,
    hears,
    message_of,
)
from vectorstore.errors import StoreError, StoreUnavailable


class StepTimeout:
    """The time limit of one try of a step.

    async with timeout.limited() as limit:   # raises TimeoutError after the seconds; then limit.expired() is true
        with timeout.paused(): …             # anywhere inside
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._limit: asyncio.Timeout | None = None
        self._pauses = 0
        self._left = seconds

    @asynccontextmanager
    async def limited(self) -> AsyncIterator[asyncio.Timeout]:
        """Limit the time of the block."""
        async with asyncio.timeout(self.seconds) as self._limit:
            yield self._limit

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Stop the clock during the block. Blocks may overlap; the clock resumes after the last one."""
        if not self._pauses:
            self._pause()
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            if not self._pauses:
                self._resume()

    def _pause(self) -> None:
        if self._limit and (when := self._limit.when()) is not None:
            self._left = when - asyncio.get_running_loop().time()
            self._limit.reschedule(None)

    def _resume(self) -> None:
        if self._limit:
            self._limit.reschedule(asyncio.get_running_loop().time() + self._left)


@dataclass(frozen=True)
class StepKit:
    """The task, the agent's kit and the time limit of one attempt of a step."""

    registered: RegisteredAgent
    task: TaskData
    agent_kit: AgentKit
    heard: tuple[AgentMessage, ...]
    timeout: StepTimeout
    kept: list[ContextUpdate]
    """Partial results. They are merged when the attempt ends, because each merge takes as long as the context is."""
    releases: tuple[Callable[[], None], ...]
    """Allow the next attempt of this step to reuse the recorded responses of this attempt."""


_TRANSIENT = (LLMTimeout, LLMRateLimited, LLMUnavailable, StoreUnavailable)
_AVOIDABLE = (InvalidResponse, PromptTooLong)
"""Model errors that another plan may avoid. Other errors would stop every plan."""


@dataclass(frozen=True)
class Worker:
    """Runs the tasks of one run, each with a new agent."""

    dependencies: RunDependencies
    models: RunModels
    tools: RunTools
    bus: MessageBus
    tasks: TaskStorage
    shared: SharedContext
    request: Request
    show_practice: Callable[[Sequence[str]], str]

    async def perform(self, message: SubTask) -> TaskResult:
        """Run the task, retry it after transient errors, and return the result."""
        agent, retries = message.assigned_agent_role, self.dependencies.settings.step_retries
        result = partial(
            TaskResult,
            sub_task_id=message.sub_task_id,
            parent_task_id=message.parent_task_id,
            worker_agent_role=agent,
        )
        for attempt in range(retries + 1):
            kit = self._kit_for(message)
            step = kit.task.step
            try:
                return result(status="COMPLETED", result_data=await _limited(self._run_agent(kit), kit.timeout))
            # An agent may be third-party code. An exception of any type fails only its task.
            except Exception as error:  # noqa: BLE001
                if isinstance(error, _TRANSIENT) and not isinstance(error, LLMUnreachable) and attempt < retries:
                    for release in kit.releases:
                        release()
                    await self.bus.publish(StepRetried(agent=agent, error=str(error)), step=step)
                    continue
                details = _error_details(error, agent, step)
                failed = StepFailed(agent=agent, error_type=details.type, error=details.message, task=kit.task.task_id)
                await self.bus.publish(failed, step=step)
                return result(status="FAILED", error_details=details)
            finally:
                if kit.kept:
                    self.shared.merge(in_one(kit.kept), kit.registered.card)
        raise AssertionError("unreachable: the last attempt returns")

    def _kit_for(self, message: SubTask) -> StepKit:
        """Create a new kit for a task. Raises TaskAccessDenied if its data is deleted."""
        registered = self.dependencies.registry.get(message.assigned_agent_role)
        card = registered.card
        get_task_data = self.tasks.reader_for(card.name)
        task = get_task_data(message.sub_task_id)
        publish = partial(self.bus.publish, step=task.step)
        timeout = StepTimeout(self.dependencies.settings.step_timeout_s)
        offer, release = self.tools.for_step(card.name, message.tools, task.step, publish, timeout.paused)
        llm = self.models.of(card.name, publish, varied=task.sample is not None, step=task.step)
        prompt, heard = self._prompt_of(registered, task.step), self._heard_by(card, task)

        kept: list[ContextUpdate] = []

        async def keep(update: ContextUpdate) -> None:
            self.shared.require_allowed(update, card)
            kept.append(update)

        kit = AgentKit(
            llm=llm,
            library=self.dependencies.library,
            prompt=prompt.with_material(show_heard(heard)) if prompt and heard else prompt,
            settings=self.dependencies.settings,
            publish=publish,
            keep=keep,
            get_task_data=get_task_data,
            read_before=self.shared.read_before,
            tools=offer,
            sources=self.request.sources,
            wake=task.wake,
        )
        return StepKit(registered, task, kit, heard, timeout, kept, (llm.release, release))

    def _prompt_of(self, registered: RegisteredAgent, step: str) -> Prompt | None:
        """Return the agent's prompt, or the one of a fork for its step.

        If the agent's card reads memory, add notes on what worked for similar questions.
        """
        card, prompt = registered.card, registered.prompt
        if prompt and (fork := self.request.fork) and fork.step == step and card.name in fork.prompts:
            prompt = prompt.with_source(fork.prompts[card.name])
        practice = self.show_practice(card.tools) if card.reads_memory else ""
        return prompt.with_sections(practice) if prompt and practice else prompt

    def _heard_by(self, card: AgentCard, task: TaskData) -> tuple[AgentMessage, ...]:
        """Return the messages that woke the agent or, in a step of the plan, its messages of this attempt."""
        if task.wake:
            return tuple(message for event in task.wake.events if (message := message_of(event)))
        if not self.dependencies.settings.reactions:
            return ()
        said = (each for each in self.shared.said if each.sender != card.name)
        return tuple(each for each in said if hears(card.listens_to, card.name, each))

    async def _run_agent(self, kit: StepKit) -> TaskOutput:
        card, task = kit.registered.card, kit.task
        agent = kit.registered.make(kit.agent_kit)
        seen = self.shared.current.only(card.sees)
        if not await agent.should_activate(seen):
            reason = f"{card.name} found nothing to do in what it reads ({', '.join(sorted(card.sees))})."
            if task.wake is None:  # a woken agent that does not react is not recorded
                skipped = StepSkipped(agent=card.name, reason=reason, task=task.task_id)
                await self.bus.publish(skipped, step=task.step)
            return TaskOutput(skipped=reason)
        woke = kit.heard[0] if task.wake else None
        started = StepStarted(
            agent=card.name,
            instruction=task.instruction,
            reads=tuple(sorted(card.sees)),
            task=task.task_id,
            inputs=task.inputs.model_dump(mode="json"),
            tools=card.tools,
            woken_by=WokenBy(event=woke.type, agent=woke.sender, step=woke.step) if woke else None,
            heard=kit.heard if kit.agent_kit.prompt else (),
        )
        await self.bus.publish(started, step=task.step)
        began = time.perf_counter()
        update = await agent.process(seen, task)
        seconds = time.perf_counter() - began
        return TaskOutput(task=task.task_id, update=update, reasoning=agent.explain_reasoning(), seconds=seconds)


async def _limited(work: Awaitable[TaskOutput], allowed: StepTimeout) -> TaskOutput:
    """Await the work. Raises StepError after the time limit. A TimeoutError of the agent propagates."""
    try:
        async with allowed.limited() as limit:
            return await work
    except TimeoutError:
        if limit.expired():
            raise StepError(f"It took longer than {allowed.seconds:g} s (`research.step_timeout_s`).") from None
        raise


def _error_details(error: Exception, agent: str, step: str) -> ErrorDetails:
    if isinstance(error, BudgetReached):
        return ErrorDetails(message=str(error), type="BudgetReached", ends_run="budget")
    if isinstance(error, RunEnded):
        return ErrorDetails(message=str(error), type="RunEnded", ends_run="failed")
    if isinstance(error, LLMError | StoreError):
        ends = "no" if isinstance(error, _AVOIDABLE) else "failed"
        return ErrorDetails(message=str(error), type=type(error).__name__, ends_run=ends)
    message = str(error) if isinstance(error, AgentError) else f"{type(error).__name__}: {error}"
    return ErrorDetails(message=f"Step {step!r} ({agent}) failed: {message}", type=type(error).__name__)
