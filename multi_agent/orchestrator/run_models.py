"""The models for the callers of one run, with the run's journal and budget."""

from __future__ import annotations

from multi_agent.llm.run_llm import RunCalls, RunLLM
from multi_agent.llm.wrappers.budget import BudgetUsage
from multi_agent.llm.wrappers.journal import Journal
from multi_agent.model import LLM
from multi_agent.orchestrator.planning.dependencies import RunDependencies
from multi_agent.values.bus import Publish
from multi_agent.values.request import Request


class RunModels:
    """Provides the models of agents and parts of the supervisor."""

    def __init__(self, dependencies: RunDependencies, request: Request, journal: Journal, spent: BudgetUsage) -> None:
        self._dependencies, self._request = dependencies, request
        self._default = dependencies.models.get(request.model)
        budget = request.budget or dependencies.settings.budget
        self._calls = RunCalls(journal, budget, spent, dependencies.models.pace)

    @property
    def model(self) -> str:
        """Name of the model for callers without a model of their own."""
        return self._default.model

    async def check_settings(self) -> None:
        """Raise LLMRefused if the settings require a feature that a model lacks. Call it before any model call."""
        for model in self._dependencies.models_of(self._request):
            await model.check_settings()

    def for_step(self, caller: str, publish: Publish, *, varied: bool, step: str = "") -> RunLLM:
        """Return the model of a step's agent. ``varied`` makes every request a sample."""
        model = self._dependencies.model_of(caller, self._request, step)
        return RunLLM(model, self._calls, caller, publish, varied=varied)

    def observed(self, caller: str, publish: Publish) -> LLM:
        """Return the model of a part of the supervisor. ``publish`` receives an event for every call."""
        return self.for_step(caller, publish, varied=False)
