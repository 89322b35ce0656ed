"""The models that the callers of one run ask, within the run's journal and budget."""

from __future__ import annotations

from multi_agent.bus import Publish
from multi_agent.llm.budgeted import BudgetedLLM, BudgetUsage
from multi_agent.llm.journal import Journal, JournalingLLM
from multi_agent.llm.llm import LLM
from multi_agent.llm.observed import ObservedLLM
from multi_agent.orchestrator.dependencies import RunDependencies
from multi_agent.request import Request


class RunModels:
    """Gives every agent and every part of the supervisor its model."""

    def __init__(self, dependencies: RunDependencies, request: Request, journal: Journal, spent: BudgetUsage) -> None:
        self._dependencies, self._request, self._spent = dependencies, request, spent
        self._budget = request.budget or dependencies.settings.budget
        self._default = dependencies.models.get(request.model)
        self._journaling = JournalingLLM(self._default, journal)

    @property
    def model(self) -> str:
        """Name of the model that is asked unless a caller has its own."""
        return self._default.model

    def journaling(self, caller: str) -> JournalingLLM:
        """Return the caller's model within the run's journal and budget."""
        model = self._dependencies.model_of(caller, self._request)
        return self._journaling.called_by(caller, BudgetedLLM(model, self._budget, self._spent))

    def observed(self, caller: str, publish: Publish) -> LLM:
        """Return the caller's model; ``publish`` receives an event for every call."""
        return ObservedLLM(self.journaling(caller), caller, publish)
