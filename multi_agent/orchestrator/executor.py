"""Runs a plan. Starts each step when its dependencies are finished, merges the results and holds votes.

Only the executor merges the results of steps into the shared context, and only the executor creates and deletes task
data.

Parallel steps finish in any order, and later prompts show their results in that order. In a resumed run the journal
answers all of them at once. In a different order, later prompts would differ from the journal's, and finished calls
would be made again. So a resumed run merges its steps in the same order as before, and a fork in that of its origin.
"""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from itertools import groupby
from typing import Any

from multi_agent.agent import StepOutput
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.errors import AgentError, BudgetReached, ReferenceFailed, RunEnded
from multi_agent.grounding.consensus import Candidate
from multi_agent.orchestrator.answer_builder import answer_in, whole_answer
from multi_agent.orchestrator.planning.validation import answering_step
from multi_agent.orchestrator.tasks import Reactions, SharedContext, StepTasks
from multi_agent.orchestrator.worker import Worker
from multi_agent.values.bus import ALL, MessageBus
from multi_agent.values.context import ContextUpdate, ResearchContext, Synthesis
from multi_agent.values.events import Event, ReasoningShared, RunResumed, StepFailed, StepFinished, StepSkipped
from multi_agent.values.plan import FailedStep, Plan, Step
from multi_agent.values.tasks import ErrorDetails, SubTask, TaskOutput, TaskResult, Wake


class PlanProgress:
    """The state of one plan's execution."""

    def __init__(self, plan: Plan) -> None:
        self._steps = {step.id: step for step in plan.steps}
        self._needs = {step.id: plan.needed_by(step) for step in plan.steps}
        self._started: set[str] = set()
        self._finished: set[str] = set()
        self._tasks: dict[str, Sequence[str]] = {}  # by step, in the order in which they were made
        self._results: dict[str, TaskResult] = {}
        self.waiting: dict[str, str] = {}
        """Step ids by the ids of their unfinished tasks."""
        self.failed: dict[str, FailedStep] = {}
        """Failures by step id."""

    @property
    def finished(self) -> bool:
        return len(self._finished) == len(self._steps)

    def start_ready(self) -> tuple[Step, ...]:
        """Return the steps that can start now, in the plan's order, and mark them as started."""
        ready = tuple(
            step
            for step in self._steps.values()
            if step.id not in self._started and self._finished >= self._needs[step.id]
        )
        self._started.update(step.id for step in ready)
        return ready

    @property
    def stuck(self) -> tuple[str, ...]:
        """The ids of the steps that wait for each other and can never start."""
        left = self._steps.keys() - self._started
        return tuple(sorted(left)) if not self.waiting and self._started == self._finished else ()

    def wait_for(self, step: Step, task_ids: Sequence[str]) -> None:
        """Note the tasks of a started step."""
        self._tasks[step.id] = task_ids
        self.waiting |= dict.fromkeys(task_ids, step.id)

    def receive(self, result: TaskResult) -> Step | None:
        """Store a result. Return its step once all tasks of the step have ended."""
        step_id = self.waiting.pop(result.sub_task_id)
        self._results[result.sub_task_id] = result
        return None if step_id in self.waiting.values() else self._steps[step_id]

    def results_of(self, step: Step) -> list[TaskResult]:
        """Return the results of the step's tasks, in the order in which the tasks were made."""
        return [self._results[task_id] for task_id in self._tasks[step.id]]

    def finish(self, step: Step, failure: FailedStep | None = None) -> None:
        """Mark the step as finished, also if it never started; with a failure, as failed."""
        self._started.add(step.id)
        self._finished.add(step.id)
        if failure:
            self.failed[step.id] = failure


class MergeOrder:
    """The order in which an interrupted run finished its steps. A new run has no order.

    ``origin`` are the events of the run that this one repeats. They count until the run itself has finished more steps.
    """

    def __init__(self, events: Sequence[Event], origin: Sequence[Event] = ()) -> None:
        tries: list[list[str]] = [[each.step for each in origin if isinstance(each.body, StepFinished)], []]
        for event in events:
            if isinstance(event.body, RunResumed):
                tries.append([])
            elif isinstance(event.body, StepFinished):
                tries[-1].append(event.step)
        longest = max(tries, key=len)
        self._order = [step for step, _ in groupby(longest)]  # each agent of a step publishes StepFinished

    def first_of(self, steps: Collection[str]) -> str | None:
        """Return the step that finished first in the earlier attempt. None if none of them finished there."""
        return next((step for step in self._order if step in steps), None)

    def remove(self, step: str) -> None:
        """Remove a merged step. A later plan may have another step of the same name."""
        if step in self._order:
            self._order.remove(step)


Agree = Callable[[str, Sequence[Candidate]], Awaitable[Synthesis]]
"""Returns the answer that wins the vote among several candidates for one question."""
_FINISHED = "An earlier attempt has finished this step. Its result is kept."
_SHOWN = {"id", "document_id", "name", "index", "start", "end"}


class Executor:
    """Runs the plans of one run, one after the other, over one shared context."""

    def __init__(
        self,
        registry: AgentRegistry,
        worker: Worker,
        tasks: StepTasks,
        shared: SharedContext,
        bus: MessageBus,
        agree: Agree,
        merge_order: MergeOrder,
        *,
        reactions: bool,
    ) -> None:
        self._registry, self._worker = registry, worker
        self._tasks, self._shared, self._bus = tasks, shared, bus
        self._agree, self._merge_order = agree, merge_order
        self._outputs: dict[str, StepOutput] = {}
        self._finished: dict[str, Step] = {}
        self._results: asyncio.Queue[TaskResult] = asyncio.Queue()
        self._held: list[TaskResult] = []
        self.answer: Synthesis | None = None
        self._earlier: frozenset[str] = frozenset()
        """The finished steps of earlier attempts that the current plan does not have."""
        self._reactions = Reactions(registry, shared, self._react, enabled=reactions)
        bus.subscribe(ALL, self._reactions.collect)

    @property
    def context(self) -> ResearchContext:
        """The current shared context."""
        return self._shared.current

    @property
    def finished(self) -> tuple[tuple[Step, StepOutput], ...]:
        """The finished steps of all attempts with their outputs. Steps of the next plan can refer to them."""
        return tuple((self._finished[name], output) for name, output in self._outputs.items())

    async def run(self, plan: Plan, samples: int = 1) -> tuple[FailedStep, ...]:
        """Run the plan and return the steps that failed. Steps that an earlier attempt has finished do not run again.

        The results are in ``context``, the plan's answer in ``answer``. The answering step runs ``samples`` times, and
        a vote chooses among its answers. Raises RunEnded or BudgetReached for errors that every plan would meet, and
        cancels the running steps.
        """
        self._shared.begin_attempt()
        self._reactions.begin_attempt()
        self.answer, self._results, self._held = None, asyncio.Queue(), []
        try:
            async with asyncio.TaskGroup() as running:
                return await self._run(plan, samples, running)
        except ExceptionGroup as errors:
            raise errors.exceptions[0] from None
        finally:
            self._tasks.delete_all()

    async def _run(self, plan: Plan, samples: int, running: asyncio.TaskGroup) -> tuple[FailedStep, ...]:
        answering = answering_step(plan, self._registry)
        progress = PlanProgress(plan)
        await self._keep_finished(plan, progress, answering)
        while not progress.finished:
            ready = progress.start_ready()
            if not ready and progress.stuck:
                raise RunEnded(f"These steps wait for each other and never start: {', '.join(progress.stuck)}.")
            for step in ready:
                is_answer = step is answering
                for message in await self._tasks_of(
                    plan, step, progress, samples if is_answer else 1, is_answer=is_answer
                ):
                    running.create_task(self._perform(message))
            if not progress.waiting:
                continue  # no ready step could be started, but the failures may have made others ready
            result = await self._next_in_order(progress.waiting)
            _raise_if_run_ends(result.error_details)
            if ended := progress.receive(result):
                self._merge_order.remove(ended.id)
                results = progress.results_of(ended)
                failure = await self._settle(ended, results, _chain(plan, ended) if ended is answering else None)
                progress.finish(ended, failure)
                await self._reactions.after(ended.id, is_last=progress.finished)
        return tuple(progress.failed.values())

    async def _keep_finished(self, plan: Plan, progress: PlanProgress, answering: Step | None) -> None:
        """Mark the steps as finished that an earlier attempt has taken in the same way, and drop replaced outputs."""
        kept = {step.id for step in plan.steps if step is not answering and self._is_finished(step)}
        while replaced := {each for each in kept if not plan.before(plan.step(each)) <= kept}:
            kept -= replaced
        for step in plan.steps:
            if step.id in kept:
                progress.finish(step)
                for agent in step.agents:
                    await self._bus.publish(StepSkipped(agent=agent, reason=_FINISHED), step=step.id)
            else:
                self._outputs.pop(step.id, None)
        self._earlier = frozenset(self._outputs) - {step.id for step in plan.steps}

    def _is_finished(self, step: Step) -> bool:
        """Return whether the same step has given a sufficient output that depends on no context."""
        before, output = self._finished.get(step.id), self._outputs.get(step.id)
        if before is None or output is None or before.task != step.task or before.agents != step.agents:
            return False
        sees = any(self._registry.get(agent).card.sees for agent in step.agents)
        return not sees and bool(getattr(output, "sufficient", True))

    async def _tasks_of(
        self, plan: Plan, step: Step, progress: PlanProgress, samples: int, *, is_answer: bool
    ) -> list[SubTask]:
        """Create the tasks of a step. Returns none if the step cannot start, which then counts as failed."""
        # With several candidates, the vote later chooses the answer.
        streams_claims = is_answer and samples * len(step.agents) == 1
        self._shared.begin_step(step.id)
        try:
            messages = self._tasks.for_step(
                step,
                plan.needed_by(step) | self._earlier,
                self._outputs,
                progress.failed,
                samples=samples,
                streams_claims=streams_claims,
            )
        except AgentError as error:
            progress.finish(step, await self._publish_failure(step, error))
            await self._reactions.after(step.id, is_last=progress.finished)
            return []
        progress.wait_for(step, [message.sub_task_id for message in messages])
        return messages

    async def _perform(self, message: SubTask) -> None:
        await self._results.put(await self._worker.perform(message))

    async def _next_in_order(self, waiting: Mapping[str, str]) -> TaskResult:
        """Return the next result. In a resumed run, finished steps are returned in the order of the first attempt."""
        first = self._merge_order.first_of(waiting.values())
        while True:
            for result in self._held:
                if first is None or result.error_details or waiting[result.sub_task_id] == first:
                    self._held.remove(result)
                    return result
            self._held.append(await self._results.get())

    async def _publish_failure(self, step: Step, error: AgentError) -> FailedStep:
        kind, reason = type(error).__name__, str(error)
        for agent in step.agents:
            failure = StepFailed(agent=agent, error_type=kind, error=reason)
            skipped = StepSkipped(agent=agent, reason=reason) if isinstance(error, ReferenceFailed) else None
            await self._bus.publish(skipped or failure, step=step.id)
        return FailedStep(step=step.id, agents=step.agents, error_type=kind, error=reason)

    # Results

    async def _settle(
        self, step: Step, results: Sequence[TaskResult], answers_after: Collection[str] | None
    ) -> FailedStep | None:
        """Merge the results of a step, after a vote if there are several answers. Return the failure if it failed.

        For the answering step, ``answers_after`` contains the ids of all steps before it.
        """
        given = [(each.worker_agent_role, each.result_data) for each in results if each.result_data]
        if not given:
            error = next(each.error_details for each in results if each.error_details)
            return FailedStep(step=step.id, agents=step.agents, error_type=error.type, error=error.message)
        outputs = [(agent, output) for agent, output in given if not output.skipped]
        if len(outputs) > 1:
            outputs = await self._vote(outputs)
        for agent, output in outputs:
            try:
                await self._merge(agent, output, step.id)
            except AgentError as error:
                return await self._publish_failure(step, error)
        if outputs:
            agent, output = next((each for each in outputs if answer_in(each[1].update)), outputs[0])
            self._finished[step.id] = step
            self._outputs[step.id] = self._registry.get(agent).card.outputs.of(output.update)
            if answers_after is not None:
                self.answer = whole_answer(output.update, answers_after, self.context)
        return None

    async def _vote(self, outputs: Sequence[tuple[str, TaskOutput]]) -> list[tuple[str, TaskOutput]]:
        """Replace the answers in the outputs with the winner of the vote. Fewer than two answers stay unchanged."""
        candidates = [
            Candidate(voter=agent, weight=self._registry.get(agent).card.weight, synthesis=answer)
            for agent, output in outputs
            if (answer := answer_in(output.update))
        ]
        if len(candidates) < 2:
            return list(outputs)
        agreed = await self._agree(self.context.question, candidates)
        return [
            (agent, output.model_copy(update={"update": _with_answer(output.update, agreed)}))
            if answer_in(output.update)
            else (agent, output)
            for agent, output in outputs
        ]

    async def _merge(self, agent: str, output: TaskOutput, step: str) -> None:
        self._shared.merge(output.update, self._registry.get(agent).card)
        wrote = _changes_as_json(output.update)
        finished = StepFinished(agent=agent, wrote=wrote, seconds=output.seconds, task=output.task)
        await self._bus.publish(finished, step=step)
        await self._bus.publish(ReasoningShared(agent=agent, reasoning=output.reasoning), step=step)
        for contradiction in self._reactions.new_contradictions(agent):
            await self._bus.publish(contradiction, step=step)

    async def _react(self, step: str, agent: str, wake: Wake) -> None:
        """Run a woken agent. Its failure is published but does not fail the plan."""
        result = await self._worker.perform(self._tasks.for_reaction(step, agent, wake))
        _raise_if_run_ends(result.error_details)
        if result.result_data and not result.result_data.skipped:
            try:
                await self._merge(agent, result.result_data, step)
            except AgentError as error:
                failure = StepFailed(agent=agent, error_type=type(error).__name__, error=str(error))
                await self._bus.publish(failure, step=step)


def _raise_if_run_ends(error: ErrorDetails | None) -> None:
    if error and error.ends_run == "budget":
        raise BudgetReached(error.message)
    if error and error.ends_run == "failed":
        raise RunEnded(error.message)


def _chain(plan: Plan, step: Step) -> frozenset[str]:
    """Return the ids of the steps before this one, and of the finished steps that they refer to."""
    before = plan.before(step)
    chain = [step, *(each for each in plan.steps if each.id in before)]
    return before | {name for each in chain for name in each.after}


def _with_answer(update: ContextUpdate, answer: Synthesis) -> ContextUpdate:
    if update.synthesis:
        return update.model_copy(update={"synthesis": answer})
    *before, last = update.findings
    return update.model_copy(update={"findings": (*before, last.model_copy(update={"synthesis": answer}))})


def _changes_as_json(update: ContextUpdate) -> dict[str, Any]:
    """Return the changed fields for the trace. Omits the text of chunks, which is in the store."""
    wrote = update.model_dump(mode="json", include=set(update.changed))
    if "chunks" in wrote:
        wrote["chunks"] = [
            chunk.model_dump(mode="json", include=_SHOWN) | {"pages": list(chunk.pages)} for chunk in update.chunks
        ]
    return wrote
