"""How far the execution of one plan is, and the order in which its results are merged.

Parallel steps finish in any order, and later prompts show their results in that order. In a resumed run the journal
answers all of them at once. In a different order, later prompts would differ from the journal's, and finished calls
would be made again. So a resumed run merges its steps in the same order as before, and a fork in that of its origin.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import groupby

from multi_agent.values.events import Event, RunResumed, StepFinished
from multi_agent.values.plan import FailedStep, Plan, Step
from multi_agent.values.tasks import TaskResult


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

    @property
    def failures(self) -> tuple[FailedStep, ...]:
        return tuple(self.failed.values())

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

    def finish_before(self, step: Step) -> None:
        """Mark a step as started and finished that an earlier plan has taken."""
        self._started.add(step.id)
        self._finished.add(step.id)

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

    def finish(self, step: Step, failure: FailedStep | None) -> None:
        """Mark the step as finished; with a failure, as failed."""
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
        """Return the step that finished first before; None if none of them had finished."""
        return next((step for step in self._order if step in steps), None)

    def remove(self, step: str) -> None:
        """Remove a merged step. A later plan may have another step of the same name."""
        if step in self._order:
            self._order.remove(step)
