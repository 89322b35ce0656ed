"""Agents at work: takes sub-tasks from the queue, gives each to a fresh agent, and reports what became of it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import NamedTuple

from multi_agent.agent import AgentKit
from multi_agent.bus import MessageBus
from multi_agent.catalog.registry import AgentRegistry, RegisteredAgent
from multi_agent.context import ResearchContext
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
from multi_agent.events import StepFailed, StepRetried, StepSkipped, StepStarted
from multi_agent.orchestrator.step_timeout import StepTimeout
from multi_agent.settings import ResearchSettings
from multi_agent.tasks import ErrorDetails, SubTask, TaskData, TaskOutput, TaskQueue, TaskResult
from vectorstore.errors import StoreError, StoreUnavailable

_TRANSIENT = (LLMTimeout, LLMRateLimited, LLMUnavailable, StoreUnavailable)
_ANOTHER_WAY_HELPS = (InvalidResponse, PromptTooLong)
"""Of the model's errors those that another plan may avoid. The others would meet every plan."""


class Turn(NamedTuple):
    """What one agent's turn is taken with, how the answers it got are given back if it has to be taken again, and the
    time that it may take.
    """

    kit: AgentKit
    release: Callable[[], None]
    time: StepTimeout


class Worker:
    """Serves one run: every agent there is, as many side by side as there are tasks."""

    def __init__(
        self,
        registry: AgentRegistry,
        queue: TaskQueue,
        turn_for: Callable[[RegisteredAgent, SubTask], Turn],
        context: Callable[[], ResearchContext],
        bus: MessageBus,
        settings: ResearchSettings,
    ) -> None:
        self._registry, self._queue, self._turn_for = registry, queue, turn_for
        self._context, self._bus, self._settings = context, bus, settings

    async def serve(self) -> None:
        """Until cancelled; then all turns under way are stopped."""
        async with asyncio.TaskGroup() as turns:
            while True:
                turns.create_task(self._work(await self._queue.next_task()))

    async def _work(self, message: SubTask) -> None:
        await self._queue.report(await self.perform(message))

    async def perform(self, message: SubTask) -> TaskResult:
        """Carry the task out, again after a transient error, and say what became of it."""
        registered = self._registry.get(message.assigned_agent_role)
        for attempt in range(self._settings.step_retries + 1):
            turn = self._turn_for(registered, message)
            task = turn.kit.get_task_data(message.sub_task_id)
            try:
                output = await self._in_time(turn.time, self._take(registered, task, turn.kit))
                return _result(message, "COMPLETED", output=output)
            # The boundary to agents' own code, which may be anybody's: whatever it raises is this task's failure.
            except Exception as error:  # noqa: BLE001
                if _is_transient(error) and attempt < self._settings.step_retries:
                    turn.release()
                    await self._bus.publish(
                        StepRetried(agent=message.assigned_agent_role, error=str(error)), step=task.step
                    )
                    continue
                details = self._details(error, registered.card.name, task.step)
                failed = StepFailed(agent=registered.card.name, error_type=details.type, error=details.message)
                await self._bus.publish(failed, step=task.step)
                return _result(message, "FAILED", error=details)
        raise AssertionError("unreachable: the last attempt returns")

    async def _in_time(self, allowed: StepTimeout, turn: Awaitable[TaskOutput]) -> TaskOutput:
        """Raises StepError if the turn takes too long; a time-out of the agent's own is the agent's error."""
        try:
            async with allowed.limited() as limit:
                return await turn
        except TimeoutError:
            if limit.expired():
                raise StepError(f"It took longer than {allowed.seconds:g} s (`research.step_timeout_s`).") from None
            raise

    async def _take(self, registered: RegisteredAgent, task: TaskData, kit: AgentKit) -> TaskOutput:
        """One agent's turn, from the question whether it has anything to do, to its reasoning."""
        card = registered.card
        agent = registered.make(kit)
        seen = self._context().only(card.sees)
        if not await agent.should_activate(seen):
            reason = f"{card.name} found nothing to do in what it reads ({', '.join(sorted(card.sees))})."
            await self._bus.publish(StepSkipped(agent=card.name, reason=reason), step=task.step)
            return TaskOutput(skipped=reason)
        started = StepStarted(agent=card.name, instruction=task.instruction, reads=tuple(sorted(card.sees)))
        await self._bus.publish(started, step=task.step)
        began = time.perf_counter()
        update = await agent.process(seen, task)
        return TaskOutput(update=update, reasoning=agent.explain_reasoning(), seconds=time.perf_counter() - began)

    def _details(self, error: Exception, agent: str, step: str) -> ErrorDetails:
        if isinstance(error, BudgetReached):
            return ErrorDetails(message=str(error), type="BudgetReached", ends_run="budget")
        if isinstance(error, RunEnded):
            return ErrorDetails(message=str(error), type="RunEnded", ends_run="failed")
        if isinstance(error, LLMError | StoreError):
            ends = "no" if isinstance(error, _ANOTHER_WAY_HELPS) else "failed"
            return ErrorDetails(message=str(error), type=type(error).__name__, ends_run=ends)
        said = str(error) if isinstance(error, AgentError) else f"{type(error).__name__}: {error}"
        return ErrorDetails(message=f"Step {step!r} ({agent}) failed: {said}", type=type(error).__name__)


def _is_transient(error: Exception) -> bool:
    return isinstance(error, _TRANSIENT) and not isinstance(error, LLMUnreachable)


def _result(
    message: SubTask, status: str, output: TaskOutput | None = None, error: ErrorDetails | None = None
) -> TaskResult:
    return TaskResult.model_validate(
        {
            "sub_task_id": message.sub_task_id,
            "parent_task_id": message.parent_task_id,
            "worker_agent_role": message.assigned_agent_role,
            "status": status,
            "result_data": output,
            "error_details": error,
        }
    )
