"""How far the execution of one plan is: which steps are started, running, finished and failed."""

from __future__ import annotations

from collections.abc import Sequence

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
