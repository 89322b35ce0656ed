"""The worker of a run, which runs an agent for each task and returns the result."""

from __future__ import annotations

import time
from collections.abc import Awaitable
from typing import Literal

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
from multi_agent.orchestrator.shared_context import SharedContext
from multi_agent.orchestrator.steps.kits import StepKit, StepKits
from multi_agent.orchestrator.steps.timeout import StepTimeout
from multi_agent.values.bus import MessageBus
from multi_agent.values.context import AgentMessage
from multi_agent.values.events import StepFailed, StepRetried, StepSkipped, StepStarted, WokenBy
from multi_agent.values.tasks import ErrorDetails, SubTask, TaskOutput, TaskResult
from vectorstore.errors import StoreError, StoreUnavailable

_TRANSIENT = (LLMTimeout, LLMRateLimited, LLMUnavailable, StoreUnavailable)
_AVOIDABLE = (InvalidResponse, PromptTooLong)
"""Model errors that another plan may avoid. Other errors would stop every plan."""


class Worker:
    """Runs the tasks of one run, each with a new agent."""

    def __init__(self, kits: StepKits, shared: SharedContext, bus: MessageBus, retries: int) -> None:
        self._kits, self._shared, self._bus, self._retries = kits, shared, bus, retries

    async def perform(self, message: SubTask) -> TaskResult:
        """Run the task, retry it after transient errors, and return the result."""
        agent = message.assigned_agent_role
        for attempt in range(self._retries + 1):
            kit = self._kits.kit_for(message)
            step = kit.task.step
            try:
                output = await _limited(self._run_agent(kit), kit.timeout)
                return _result(message, "COMPLETED", output=output)
            # Agents may be third-party code and raise any exception, which must fail only this task.
            except Exception as error:  # noqa: BLE001
                if _is_transient(error) and attempt < self._retries:
                    kit.release()
                    await self._bus.publish(StepRetried(agent=agent, error=str(error)), step=step)
                    continue
                details = _error_details(error, agent, step)
                failed = StepFailed(agent=agent, error_type=details.type, error=details.message, task=kit.task.task_id)
                await self._bus.publish(failed, step=step)
                return _result(message, "FAILED", error=details)
        raise AssertionError("unreachable: the last attempt returns")

    async def _run_agent(self, kit: StepKit) -> TaskOutput:
        card, task = kit.registered.card, kit.task
        agent = kit.registered.make(kit.agent_kit)
        seen = self._shared.current.only(card.sees)
        if not await agent.should_activate(seen):
            reason = f"{card.name} found nothing to do in what it reads ({', '.join(sorted(card.sees))})."
            if task.wake is None:  # a woken agent that does not react is not recorded
                skipped = StepSkipped(agent=card.name, reason=reason, task=task.task_id)
                await self._bus.publish(skipped, step=task.step)
            return TaskOutput(skipped=reason)
        started = StepStarted(
            agent=card.name,
            instruction=task.instruction,
            reads=tuple(sorted(card.sees)),
            task=task.task_id,
            inputs=task.inputs.model_dump(mode="json"),
            tools=card.tools,
            woken_by=_woken_by(kit.heard[0]) if task.wake else None,
            heard=kit.heard if kit.agent_kit.prompt else (),
        )
        await self._bus.publish(started, step=task.step)
        began = time.perf_counter()
        update = await agent.process(seen, task)
        seconds = time.perf_counter() - began
        return TaskOutput(task=task.task_id, update=update, reasoning=agent.explain_reasoning(), seconds=seconds)


def _woken_by(message: AgentMessage) -> WokenBy:
    return WokenBy(event=message.type, agent=message.sender, step=message.step)


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


def _is_transient(error: Exception) -> bool:
    return isinstance(error, _TRANSIENT) and not isinstance(error, LLMUnreachable)


def _result(
    message: SubTask,
    status: Literal["COMPLETED", "FAILED"],
    output: TaskOutput | None = None,
    error: ErrorDetails | None = None,
) -> TaskResult:
    return TaskResult(
        sub_task_id=message.sub_task_id,
        parent_task_id=message.parent_task_id,
        worker_agent_role=message.assigned_agent_role,
        status=status,
        result_data=output,
        error_details=error,
    )
