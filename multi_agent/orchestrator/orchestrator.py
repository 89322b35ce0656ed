"""The head of the panel: takes a question to a terminal state. What happens in between is in ``run.py``."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from multi_agent.answer import Answer
from multi_agent.bus import Subscriber
from multi_agent.catalog.registry import AgentRegistry
from multi_agent.library import Library
from multi_agent.llm.llm import LLM
from multi_agent.llm.models import Models
from multi_agent.memory.plans import PlanMemory
from multi_agent.memory.remembered import NO_MEMORY, Memory
from multi_agent.orchestrator.direct import direct_plan
from multi_agent.orchestrator.run import Run
from multi_agent.plan import Plan, PlanExample
from multi_agent.request import Request
from multi_agent.settings import SUPERVISORS, ResearchSettings
from multi_agent.storage.trace import Trace
from multi_agent.toolbox.toolbox import Toolbox


@dataclass(frozen=True)
class Orchestrator:
    """Researches questions. One instance serves many runs at once; all state of a run is made for that run.

    panel = Orchestrator(models, library, registry, trace, plans, settings, tools)
    answer = await panel.research("Which pump works at -20 °C?")
    """

    models: Models
    library: Library
    registry: AgentRegistry
    trace: Trace
    plans: PlanMemory
    settings: ResearchSettings
    tools: Toolbox
    memory: Memory = NO_MEMORY

    async def research(
        self,
        request: Request | str,
        *listeners: Subscriber,
        run_id: str | None = None,
        examples: Sequence[PlanExample] | None = None,
        rests: Callable[[], bool] = lambda: False,
    ) -> Answer:
        """The answer; ``listeners`` are told every event as it happens.

        The planner is shown plans that worked on similar questions; to replay a run, hand in as ``examples`` those
        that its first event holds, or its prompts are not what they were.

        A run that began before under this ``run_id`` and has not ended goes on: its events are numbered after those
        there are, its finished model calls are answered from its journal, and its budget counts what it had spent.

        Always ends in a terminal state, which is stored with the answer. Errors of the model, the plan and the store
        end the run as ``failed`` with their message. A cancelled run is stored as such, then the cancellation goes
        on; unless ``rests`` says, when it is cancelled, that it is to go on later. Any other exception, which is a
        defect of Candor, is stored and goes on, too. Raises AgentError for a request that cannot be followed: an empty
        question, an agent, a model or a saved plan that there is not.
        """
        asked = (Request(question=request) if isinstance(request, str) else request).checked()
        return await Run(self, asked, run_id or new_run_id(), listeners, examples, rests).to_the_end()

    def chosen_plan(self, request: Request) -> Plan | None:
        """The plan that the request itself chooses, by its name or by an agent's; None leaves it to the planner.

        Raises AgentError if there is no such plan or agent, if the agent cannot work alone, or if one of the models
        that are to be asked is not there.
        """
        self._require_models(request)
        if request.agent:
            return direct_plan(self.registry.get(request.agent), request.question)
        return self.plans.get(request.template).plan if request.template else None

    def model_of(self, caller: str, request: Request) -> LLM:
        """The model that an agent asks, or a part of the supervisor: its own, or that of the request, or the default.

        Raises UnknownModel.
        """
        return self.models.get(self._endpoint_of(caller) or request.model)

    def _endpoint_of(self, caller: str) -> str:
        own = self.registry.get(caller).card.model if caller in self.registry else ""
        return own or self.settings.agent_models.get(caller, "")

    def _require_models(self, request: Request) -> None:
        self.models.require(request.model)
        for caller in self.settings.agent_models:
            if caller not in SUPERVISORS and caller not in self.registry.disabled:
                self.registry.get(caller)
        for caller in (*SUPERVISORS, *self.registry.names):
            self.models.require(self._endpoint_of(caller), caller)

    async def deep_research(self, question: str, *listeners: Subscriber, samples: int | None = None) -> Answer:
        """The whole workflow in one call, planned whatever the question looks like.

        The report is the answer; what was done for it, step by step and by agent, stands in its ``summary``.
        """
        return await self.research(Request(question=question, mode="high", samples=samples), *listeners)


def new_run_id() -> str:
    """A fresh run id: 'run_' and 12 hexadecimal digits."""
    return f"run_{secrets.token_hex(6)}"
