"""Running a plan: every step as soon as what it needs is there, updates merged, reasoning told to all."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

from multi_agent.agent import Agent, AgentKit, Task
from multi_agent.bus import MessageBus
from multi_agent.context import AgentMessage, ContextUpdate, ResearchContext, merge
from multi_agent.errors import AgentError, LLMError, StepError
from multi_agent.events import Event, ReasoningShared, StepFailed, StepFinished, StepSkipped, StepStarted
from multi_agent.orchestrator.validation import ready
from multi_agent.plan import Plan, Step
from multi_agent.registry import AgentRegistry, RegisteredAgent
from vectorstore.errors import StoreError

KitFor = Callable[[RegisteredAgent, str], AgentKit]
_REACTION = "reaction_"


class Executor:
    """Runs one plan over one context. Made anew for every run."""

    def __init__(
        self, registry: AgentRegistry, kit_for: KitFor, bus: MessageBus, context: ResearchContext, step_timeout_s: float
    ) -> None:
        self._registry, self._kit_for, self._bus, self._timeout = registry, kit_for, bus, step_timeout_s
        self.context = context
        for agent in registry:
            for event_type in sorted(agent.card.listens_to):
                bus.subscribe(event_type, self._reaction_of(agent))

    async def run(self, plan: Plan) -> ResearchContext:
        """The context after the last step. Raises StepError for the first step that fails; the others are stopped."""
        started: dict[str, asyncio.Task[None]] = {}
        done: frozenset[str] = frozenset()
        try:
            while len(done) < len(plan.steps):
                for step in ready(plan, done, frozenset(started)):
                    started[step.id] = asyncio.create_task(self._take(step), name=step.id)
                running = [task for step_id, task in started.items() if step_id not in done]
                finished, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                for task in finished:
                    await task
                done |= {task.get_name() for task in finished}
        finally:
            await _stop(started.values())
        return self.context

    async def _take(self, step: Step) -> None:
        registered = self._registry.get(step.agent)
        inputs = registered.card.inputs.model_validate(step.inputs)
        await self._turn(registered, Task(step=step.id, instruction=step.instruction, inputs=inputs))

    async def _turn(self, registered: RegisteredAgent, task: Task) -> None:
        """One agent's turn, from the question whether it has anything to do, to its reasoning on the bus."""
        card = registered.card
        agent = registered.make(self._kit_for(registered, task.step))
        seen = self.context.only(card.sees)
        try:
            async with asyncio.timeout(self._timeout):
                if not await agent.should_activate(seen):
                    reason = f"{card.name} found nothing to do in what it reads ({', '.join(sorted(card.sees))})."
                    await self._bus.publish(StepSkipped(agent=card.name, reason=reason), step=task.step)
                    return
                await self._process(agent, seen, task)
        # The boundary to agents' own code, which may be anybody's: whatever it raises fails this step, and the run.
        except Exception as error:  # noqa: BLE001
            await self._fail(card.name, task.step, error)

    async def _process(self, agent: Agent, seen: ResearchContext, task: Task) -> None:
        name, reads = agent.card.name, tuple(sorted(agent.card.sees))
        await self._bus.publish(StepStarted(agent=name, instruction=task.instruction, reads=reads), step=task.step)
        began = time.perf_counter()
        update = await agent.process(seen, task)
        self.context = merge(self.context, update, agent=name, writes=agent.card.writes)
        seconds = time.perf_counter() - began
        await self._bus.publish(StepFinished(agent=name, wrote=as_json(update), seconds=seconds), step=task.step)
        await self._share(name, agent.explain_reasoning(), task.step)

    async def _share(self, name: str, reasoning: str, step: str) -> None:
        message = AgentMessage(sender=name, type="reasoning_shared", content=reasoning)
        self.context = self.context.model_copy(update={"messages": (*self.context.messages, message)})
        await self._bus.publish(ReasoningShared(agent=name, reasoning=reasoning), step=step)

    async def _fail(self, agent: str, step: str, error: Exception) -> None:
        if isinstance(error, TimeoutError):
            error = StepError(f"It took longer than {self._timeout:g} s (`research.step_timeout_s`).")
        await self._bus.publish(
            StepFailed(agent=agent, error_type=type(error).__name__, error=str(error) or repr(error)), step=step
        )
        if isinstance(error, LLMError | StoreError):
            raise error
        known = isinstance(error, AgentError)
        raise StepError(
            f"Step {step!r} ({agent}) failed: {error if known else f'{type(error).__name__}: {error}'}"
        ) from error

    def _reaction_of(self, registered: RegisteredAgent) -> Callable[[Event], Any]:
        async def react(event: Event) -> None:
            # Reactions do not set off reactions, and nobody reacts to itself: both would never end.
            if event.step.startswith(_REACTION) or getattr(event.body, "agent", "") == registered.card.name:
                return
            step = f"{_REACTION}{registered.card.name.lower()}_{event.number}"
            await self._turn(registered, Task(step=step, instruction=f"React to {event.body.type}."))

        return react


async def _stop(tasks: Any) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def as_json(update: ContextUpdate) -> dict[str, Any]:
    """The changed fields for the trace; chunks by reference, since the store keeps their text."""
    wrote = update.model_dump(mode="json", include=set(update.changed))
    if "chunks" in wrote:
        wrote["chunks"] = [
            {"id": chunk.id, "name": chunk.name, "index": chunk.index, "pages": list(chunk.pages)}
            for chunk in update.chunks
        ]
    return wrote
