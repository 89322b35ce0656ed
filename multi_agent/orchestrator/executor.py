"""Running a plan: the coordinator of a run. It makes the tasks, hands them out as soon as what they need is there,
merges what comes back, takes votes, and tells all.

It alone changes the shared context, and it alone creates and deletes task data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from itertools import count
from typing import Any

from multi_agent.agent import DOCUMENTS, StepOutput
from multi_agent.bus import MessageBus
from multi_agent.catalog.registry import AgentRegistry, RegisteredAgent
from multi_agent.context import AgentMessage, ContextUpdate, ResearchContext, Synthesis, merge
from multi_agent.errors import AgentError, BudgetReached, ReferenceFailed, RunEnded
from multi_agent.events import Event, ReasoningShared, StepFailed, StepFinished
from multi_agent.grounding.consensus import Candidate
from multi_agent.orchestrator.merge_order import MergeOrder
from multi_agent.orchestrator.references import resolve
from multi_agent.orchestrator.validation import answering_step, input_faults, ready
from multi_agent.orchestrator.worker import Turn, Worker
from multi_agent.orchestrator.working_context import FailedStep
from multi_agent.plan import Plan, Step
from multi_agent.settings import ResearchSettings
from multi_agent.tasks import (
    ErrorDetails,
    GetTaskData,
    InProcessTaskQueue,
    SubTask,
    TaskOutput,
    TaskResult,
    TaskStorage,
    task_data_type,
)

Keep = Callable[[ContextUpdate], Awaitable[None]]
TurnFor = Callable[[RegisteredAgent, str, bool, tuple[str, ...], GetTaskData, Keep], Turn]
"""A turn for an agent: of which step, whether one of several samples, with which tools, its task data, its way into
the context."""
Agree = Callable[[str, Sequence[Candidate]], Awaitable[Synthesis]]
_REACTION = "reaction_"


class Executor:
    """Runs plans over one context, one after the other. Made anew for every run."""

    def __init__(
        self,
        run_id: str,
        registry: AgentRegistry,
        turn_for: TurnFor,
        agree: Agree,
        bus: MessageBus,
        context: ResearchContext,
        documents: Sequence[str],
        settings: ResearchSettings,
        pace: MergeOrder,
    ) -> None:
        self._pace, self._held = pace, list[TaskResult]()
        self._run_id, self._registry, self._make_turn, self._agree = run_id, registry, turn_for, agree
        self._bus, self._documents, self._settings = bus, documents, settings
        self.context = context
        self.answer: Synthesis | None = None
        self._outputs: dict[str, StepOutput] = {}
        self._storage, self._queue = TaskStorage(), InProcessTaskQueue()
        self._numbers = count(1)
        self._worker = Worker(registry, self._queue, self._turn_for, lambda: self.context, bus, settings)
        for agent in registry:
            for event_type in sorted(agent.card.listens_to):
                bus.subscribe(event_type, self._reaction_of(agent))

    async def run(self, plan: Plan, samples: int = 1) -> tuple[FailedStep, ...]:
        """The steps that failed; what the others found is in ``context``, and the plan's answer in ``answer``.

        The answering step is taken ``samples`` times, and voted on. Raises RunEnded and BudgetReached for what no
        other plan could avoid; whatever else is under way is stopped then.
        """
        self.context = self.context.model_copy(update={"synthesis": None})
        self.answer, self._outputs, self._held = None, {}, []
        worker = asyncio.create_task(self._worker.serve(), name=f"{self._run_id}: worker")
        try:
            return await self._run(plan, samples, worker)
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
            self._storage.delete_run(self._run_id)

    async def _run(self, plan: Plan, samples: int, worker: asyncio.Task[None]) -> tuple[FailedStep, ...]:
        answering = answering_step(plan, self._registry)
        steps = {step.id: step for step in plan.steps}
        waiting: dict[str, str] = {}  # step ids by task ids
        tasks: dict[str, list[str]] = {}  # task ids by step ids, in the order in which they were made
        results: dict[str, TaskResult] = {}
        started: set[str] = set()
        failed: dict[str, FailedStep] = {}
        done: set[str] = set()
        while len(done) < len(steps):
            for step in ready(plan, frozenset(done), frozenset(started)):
                started.add(step.id)
                try:
                    takes = samples if step is answering else 1
                    # Of several that answer, nobody knows yet whose answer it will be.
                    told = step is answering and takes * len(step.agents) == 1
                    tasks[step.id] = await self._assign(step, failed, takes, told=told)
                except AgentError as error:
                    failed[step.id] = await self._never_started(step, error)
                    done.add(step.id)
                else:
                    waiting |= dict.fromkeys(tasks[step.id], step.id)
            if not waiting:
                continue  # every step that was ready could not be started, which may have made others ready
            result = await self._next_in_order(worker, waiting)
            _end_run_if_it_must(result.error_details)
            step = steps[waiting.pop(result.sub_task_id)]
            results[result.sub_task_id] = result
            if step.id not in waiting.values():
                self._pace.passed(step.id)
                done.add(step.id)
                reported = [results[task] for task in tasks[step.id]]
                if lost := await self._settle(step, reported, is_answer=step is answering):
                    failed[step.id] = lost
        return tuple(failed.values())

    async def _next_in_order(self, worker: asyncio.Task[None], waiting: Mapping[str, str]) -> TaskResult:
        """What became of the next task; of steps that had ended before the run was resumed, in the order of then."""
        first = self._pace.first_of(waiting.values())
        while True:
            for result in self._held:
                if first is None or result.error_details or waiting[result.sub_task_id] == first:
                    self._held.remove(result)
                    return result
            self._held.append(await self._next_result(worker))

    async def _next_result(self, worker: asyncio.Task[None]) -> TaskResult:
        """What became of the next task. Raises what ended the worker, if that comes first: it reports no more."""
        result = asyncio.create_task(self._queue.next_result(self._run_id))
        try:
            await asyncio.wait({result, worker}, return_when=asyncio.FIRST_COMPLETED)
            if result.done():
                return result.result()
            worker.result()
            raise AssertionError("unreachable: a worker ends by an error only")
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            result.cancel()

    # Handing out

    async def _assign(self, step: Step, failed: dict[str, FailedStep], samples: int, *, told: bool) -> list[str]:
        """Make and hand out the tasks of a step. Raises AgentError if it cannot be started."""
        if broken := sorted(set(step.after) & failed.keys()):
            raise ReferenceFailed(f"It needs {', '.join(broken)}, which failed.")
        instruction, inputs = resolve([step.instruction, step.inputs], self._outputs)
        cards = [self._registry.get(agent).card for agent in step.agents]
        for card in cards:
            if faults := list(input_faults(card, inputs, {DOCUMENTS: self._documents})):
                raise ReferenceFailed(f"Its inputs do not fit {card.name}: {' '.join(faults)}")
        messages = []
        for sample in range(samples):
            for card in cards:
                number = sample if samples > 1 else None
                messages.append(self._task(step.id, card.name, instruction, inputs, number, told=told))
        for message in messages:
            await self._queue.assign(message)
        return [message.sub_task_id for message in messages]

    def _task(
        self,
        step: str,
        agent: str,
        instruction: str,
        inputs: dict[str, Any],
        sample: int | None = None,
        *,
        told: bool = False,
    ) -> SubTask:
        """Task data for an agent, stored, and the message that tells of it."""
        card = self._registry.get(agent).card
        task = task_data_type(agent, card.inputs)(
            task_id=f"{self._run_id}_{step}_{next(self._numbers)}",
            run_id=self._run_id,
            step=step,
            agent=agent,
            instruction=instruction,
            sample=sample,
            told=told,
            inputs=card.inputs.model_validate(inputs),
        )
        self._storage.store(task)
        known = self.context
        return SubTask(
            sub_task_id=task.task_id,
            parent_task_id=self._run_id,
            assigned_agent_role=agent,
            tools=card.tools,
            sub_task_input=inputs,
            context_summary=(
                f"{len(known.chunks)} passages, {len(known.evidence)} quotes, {len(known.findings)} findings"
            ),
        )

    def _turn_for(self, registered: RegisteredAgent, message: SubTask) -> Turn:
        read = self._storage.reader_for(registered.card.name)
        task = read(message.sub_task_id)

        async def keep(update: ContextUpdate) -> None:
            self.context = merge(self.context, update, agent=registered.card.name, writes=registered.card.writes)

        return self._make_turn(registered, task.step, task.sample is not None, message.tools, read, keep)

    async def _never_started(self, step: Step, error: AgentError) -> FailedStep:
        for agent in step.agents:
            failure = StepFailed(agent=agent, error_type=type(error).__name__, error=str(error))
            await self._bus.publish(failure, step=step.id)
        return FailedStep(step=step.id, agents=step.agents, error_type=type(error).__name__, error=str(error))

    # Taking in

    async def _settle(self, step: Step, results: Sequence[TaskResult], *, is_answer: bool) -> FailedStep | None:
        """Merge what a step's tasks gave, after a vote if there is something to vote on."""
        given = [(each.worker_agent_role, each.result_data) for each in results if each.result_data]
        taken = [(agent, output) for agent, output in given if not output.skipped]
        if not given:
            error = next(each.error_details for each in results if each.error_details)
            return FailedStep(step=step.id, agents=step.agents, error_type=error.type, error=error.message)
        if len(taken) > 1:
            taken = await self._voted(taken)
        for agent, output in taken:
            try:
                await self._merge(agent, output, step.id)
            except AgentError as error:
                return await self._never_started(step, error)
        if taken:
            agent, output = taken[0]
            self._outputs[step.id] = self._registry.get(agent).card.outputs.of(output.update)
            if is_answer:
                self.answer = _answer_in(output.update)
        return None

    async def _voted(self, taken: list[tuple[str, TaskOutput]]) -> list[tuple[str, TaskOutput]]:
        """The turns with the answer that was agreed on in place of each one's own, if they gave answers."""
        candidates = [
            Candidate(voter=agent, weight=self._registry.get(agent).card.weight, synthesis=answer)
            for agent, output in taken
            if (answer := _answer_in(output.update))
        ]
        if len(candidates) < 2:
            return taken
        agreed = await self._agree(self.context.question, candidates)
        return [
            (agent, output.model_copy(update={"update": _with_answer(output.update, agreed)}))
            for agent, output in taken
        ]

    async def _merge(self, agent: str, output: TaskOutput, step: str) -> None:
        writes = self._registry.get(agent).card.writes
        self.context = merge(self.context, output.update, agent=agent, writes=writes)
        finished = StepFinished(agent=agent, wrote=as_json(output.update), seconds=output.seconds)
        await self._bus.publish(finished, step=step)
        message = AgentMessage(sender=agent, type="reasoning_shared", content=output.reasoning)
        self.context = self.context.model_copy(update={"messages": (*self.context.messages, message)})
        await self._bus.publish(ReasoningShared(agent=agent, reasoning=output.reasoning), step=step)

    # Reactions

    def _reaction_of(self, registered: RegisteredAgent) -> Callable[[Event], Any]:
        name = registered.card.name

        async def react(event: Event) -> None:
            # Reactions do not set off reactions, and nobody reacts to itself: both would never end.
            if event.step.startswith(_REACTION) or getattr(event.body, "agent", "") == name:
                return
            step = f"{_REACTION}{name.lower()}_{event.number}"
            message = self._task(step, name, f"React to {event.body.type}.", {})
            result = await self._worker.perform(message)
            _end_run_if_it_must(result.error_details)
            if result.result_data and not result.result_data.skipped:
                await self._merge(name, result.result_data, step)

        return react


def _end_run_if_it_must(error: ErrorDetails | None) -> None:
    if error and error.ends_run == "budget":
        raise BudgetReached(error.message)
    if error and error.ends_run == "failed":
        raise RunEnded(error.message)


def _answer_in(update: ContextUpdate) -> Synthesis | None:
    """The answer that an agent wrote, be it to the question or to one on the way."""
    if update.synthesis:
        return update.synthesis
    return update.findings[-1].synthesis if update.findings else None


def _with_answer(update: ContextUpdate, answer: Synthesis) -> ContextUpdate:
    if update.synthesis:
        return update.model_copy(update={"synthesis": answer})
    *before, last = update.findings
    return update.model_copy(update={"findings": (*before, last.model_copy(update={"synthesis": answer}))})


_SHOWN = {"id", "document_id", "name", "index", "start", "end"}


def as_json(update: ContextUpdate) -> dict[str, Any]:
    """The changed fields for the trace; chunks by reference, since the store keeps their text."""
    wrote = update.model_dump(mode="json", include=set(update.changed))
    if "chunks" in wrote:
        wrote["chunks"] = [
            chunk.model_dump(mode="json", include=_SHOWN) | {"pages": list(chunk.pages)} for chunk in update.chunks
        ]
    return wrote
